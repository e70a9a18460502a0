# What static-build and release share: to be read by them, not run.
#
# A program at a fixed address needs no relocations, which each round, a process of its own, would pay for.
static_flags="-C target-feature=+crt-static -C relocation-model=static"
