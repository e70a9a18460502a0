# What wine-run and wine-server share: to be read by them, not run.

# A prefix of the project's own: a server stopped there is nobody else's.
WINEPREFIX=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/target/wine
export WINEPREFIX
export WINEDEBUG=-all
# Without these two, a new prefix asks to download Mono and Gecko.
export WINEDLLOVERRIDES="mscoree,mshtml="
unset DISPLAY WAYLAND_DISPLAY

# Debian keeps the 64-bit programs out of the PATH, for a package `wine` that need not be there.
wine=/usr/lib/wine/wine64
wine_server=/usr/lib/wine/wineserver64

# Makes the prefix if there is none: 7 seconds and 700 MB, once. Runs that start together wait for one of them.
ensure_prefix() {
    if [[ ! -x $wine || ! -x $wine_server ]]; then
        echo "no Wine at $wine: run scripts/install-test-needs" >&2
        return 1
    fi
    mkdir -p "$WINEPREFIX"
    (
        flock 9
        if [[ ! -e $WINEPREFIX/made ]]; then
            echo "making a Wine prefix in target/wine" >&2
            # Wine's services keep the files of whoever starts them open, the lock's too.
            "$wine" wineboot -i </dev/null >/dev/null 2>&1 9>&-
            "$wine_server" -w 9>&-
            touch "$WINEPREFIX/made"
        fi
    ) 9>"$WINEPREFIX/lock"
}
