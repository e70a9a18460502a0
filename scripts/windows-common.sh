# What windows-build and windows-test share: to be read by them, not run.
#
# Debian has no compiled standard library for Windows, so `-Z build-std` compiles it from the sources in
# rust-web-src. Those belong to Debian's own compiler, so that one is used, and RUSTC_BOOTSTRAP lets a stable
# compiler take an unstable option.
#
# The win7 target is x86_64-pc-windows-gnu for older systems: its standard library takes random numbers from
# another DLL than bcryptprimitives.dll, which Wine 8 does not have. With rustup, on or off Windows, the usual
# target serves as well.

windows_cargo=/usr/bin/cargo
windows_target=x86_64-win7-windows-gnu
export RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1
# Its own folder: what another compiler built there would be built anew each time the compiler changes.
export CARGO_TARGET_DIR=target/windows
export CARGO_TARGET_X86_64_WIN7_WINDOWS_GNU_LINKER=x86_64-w64-mingw32-gcc
export CC_x86_64_win7_windows_gnu=x86_64-w64-mingw32-gcc
export AR_x86_64_win7_windows_gnu=x86_64-w64-mingw32-ar
# A warning about code for Windows is as wrong as one about code for Linux.
export CARGO_BUILD_WARNINGS=deny
