/* What the examples share: the clock, and CPU-bound work of a known speed, as in crates/measure/src/work.rs.
 *
 * To be included after <stdint.h>, <stdio.h>, <stdlib.h> and <time.h>. */

enum { STRETCH = 400000, STRETCHES = 40 };

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * UINT64_C(1000000000) + t.tv_nsec;
}

static void check(int failed, const char *what)
{
    if (failed) {
        perror(what);
        exit(2);
    }
}

/* A chain of dependent rotations and exclusive ors. */
static __attribute__((noinline)) void work(uint64_t n)
{
    volatile uint64_t seen = 1;
    uint64_t x = seen;
    for (uint64_t turn = 0; turn < n; turn++) {
        x = (x << 3 | x >> 61) ^ turn;
        __asm__ volatile("" : "+r"(x));
    }
    seen = x;
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The lower decile of the stretches: interrupts and a busy hardware thread only make them longer. */
static double ns_per_turn(void)
{
    uint64_t times[STRETCHES];
    work(STRETCH);
    for (int i = 0; i < STRETCHES; i++) {
        uint64_t began = now();
        work(STRETCH);
        times[i] = now() - began;
    }
    qsort(times, STRETCHES, sizeof times[0], ascending);
    return times[STRETCHES / 10] / (double)STRETCH;
}
