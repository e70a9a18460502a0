/*
 * A function for `oscost run --op FILE` to measure: a shared library that exports the functions below.
 * docs/op.md explains them; examples/op has one in C, one in C++ and one in Rust.
 *
 *   cc -O2 -fPIC -shared -I include -o mine.so mine.c && oscost run --op ./mine.so
 *
 * Each round is a fresh process: it loads the library, calls oscost_setup, oscost_operation several hundred times, and
 * oscost_teardown, all in one thread on one CPU. Standard output is discarded; the last line on standard error is
 * reported if the process crashes.
 *
 * The functions that return int return 0 for success, else an errno value (on Windows an error code of GetLastError):
 * then there is no figure. ENOSYS, EPERM and EACCES mean that this system does not support the operation.
 */
#ifndef OSCOST_H
#define OSCOST_H

#include <stdint.h>

/* Changed when a library built with an older header would be misunderstood. */
#define OSCOST_VERSION 1

#ifdef _WIN32
#define OSCOST_VISIBLE __declspec(dllexport)
#else
#define OSCOST_VISIBLE __attribute__((visibility("default")))
#endif

/* An exception must not leave these functions: in C++ it ends the process. */
#ifdef __cplusplus
#define OSCOST_EXPORT extern "C" OSCOST_VISIBLE
#define OSCOST_NOEXCEPT noexcept
#else
#define OSCOST_EXPORT OSCOST_VISIBLE
#define OSCOST_NOEXCEPT
#endif

/* Required: OSCOST_VERSION. OSCOST_NAME defines it. */
OSCOST_EXPORT uint32_t oscost_version(void) OSCOST_NOEXCEPT;

/* Required: what is measured, in up to 64 bytes of UTF-8. Two builds with one name are compared with each other.
 * OSCOST_NAME defines it. */
OSCOST_EXPORT const char *oscost_name(void) OSCOST_NOEXCEPT;

/* Required: carries out n operations, one after the other. n is chosen so that the clock's share is negligible. */
OSCOST_EXPORT int oscost_operation(uint64_t n) OSCOST_NOEXCEPT;

/* Optional: called once before the first operation, off the clock. */
OSCOST_EXPORT int oscost_setup(void) OSCOST_NOEXCEPT;

/* Optional: called once after the last operation, off the clock. */
OSCOST_EXPORT void oscost_teardown(void) OSCOST_NOEXCEPT;

/* Optional: how many system calls one operation makes in this thread, on average. If another number is counted, the
 * figure is reported as implausible. */
OSCOST_EXPORT double oscost_expected_syscalls(void) OSCOST_NOEXCEPT;

/* Defines oscost_version and oscost_name: OSCOST_NAME("sort 1000 numbers") */
#define OSCOST_NAME(name)                                                                                             \
    OSCOST_EXPORT uint32_t oscost_version(void) OSCOST_NOEXCEPT { return OSCOST_VERSION; }                            \
    OSCOST_EXPORT const char *oscost_name(void) OSCOST_NOEXCEPT { return name; }

#endif
