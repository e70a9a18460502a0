# What static-build, static-loops and release share: to be read by them, not run.
#
# A program at a fixed address needs no relocations, which each round, a process of its own, would pay for.
static_flags="-C target-feature=+crt-static -C relocation-model=static"

# Builds the program $2 of the package $1 for this machine, with the other arguments for cargo, as target/static/$2.
static_program() {
    local package=$1 program=$2 target built
    shift 2
    target=$(rustc -vV | sed -n 's/^host: //p')
    if [[ $target != *-linux-gnu ]]; then
        echo "${0##*/}: builds for Linux with glibc, not for $target" >&2
        exit 2
    fi
    # With --target, the flags are not used for procedural macros, which cannot be static.
    export RUSTFLAGS="$static_flags ${RUSTFLAGS-}" CARGO_TARGET_DIR=target/static
    built=$(cargo build --package "$package" --bin "$program" --target "$target" \
        --message-format json-render-diagnostics "$@" | sed -n 's/.*"executable":"\([^"]*\)".*/\1/p' | tail -n 1)
    cp "$built" "target/static/$program.part"
    mv "target/static/$program.part" "target/static/$program"
    echo "target/static/$program"
}
