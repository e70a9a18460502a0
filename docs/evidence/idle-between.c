/* A CPU that idles between measurements is disturbed by neighbours more often than one that does not.
 *
 * On CPU 1, bursts of 3 ms, in which independent chains of instructions are timed beside a chain of dependent multiplications,
 * alternate with pauses of 2 ms. In turns of 5 seconds the pauses are spent asleep or busy. A neighbour on the core's other
 * hardware thread slows the independent chains, but hardly the multiplications: readings whose ratio is within 4 % of the lowest
 * steady one are quiet. Prints their share for each turn. x86-64 only.
 *
 *   cc -O2 docs/evidence/idle-between.c -o /tmp/idle-between && /tmp/idle-between 6
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

/* The time of eight independent chains, as a multiple of that of dependent multiplications beside them. */
static double ratio(void) {
    uint64_t x = 3, a = 1, b = 2, c = 3, d = 4, e = 5, f = 6, g = 7, h = 8;
    double start = now();
    for (int i = 0; i < 2000; i++) __asm__ volatile("imul %0, %0" : "+r"(x));
    double middle = now();
    for (uint64_t i = 0; i < 1000; i++)
        __asm__ volatile("rol $9, %0\n xor %8, %0\n rol $9, %1\n xor %8, %1\n rol $9, %2\n xor %8, %2\n"
                         "rol $9, %3\n xor %8, %3\n rol $9, %4\n xor %8, %4\n rol $9, %5\n xor %8, %5\n"
                         "rol $9, %6\n xor %8, %6\n rol $9, %7\n xor %8, %7\n"
                         : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f), "+r"(g), "+r"(h) : "r"(i));
    double end = now();
    return (end - middle) / (middle - start);
}

static int ascending(const void *a, const void *b) {
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

enum { MOST = 16000000 };

int main(int argc, char **argv) {
    int turns = argc > 1 ? atoi(argv[1]) : 6;
    if (turns < 2 || turns > 100) return 2;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(1, &one);
    if (sched_setaffinity(0, sizeof one, &one)) return 1;
    float *all = malloc(2 * MOST * sizeof *all), *sorted = all + MOST;
    int *ends = calloc(turns + 1, sizeof *ends);
    if (!all || !ends) return 1;
    int count = 0;
    for (int turn = 0; turn < turns; turn++) {
        for (double begin = now(); now() - begin < 5e9;) {
            for (double burst = now(); now() - burst < 3e6 && count < MOST;) all[count++] = ratio();
            double pause = now();
            if (turn % 2 == 0) {
                struct timespec two_ms = {0, 2000000};
                nanosleep(&two_ms, NULL);
            }
            while (now() - pause < 2e6) continue;
        }
        ends[turn + 1] = count;
    }
    for (int i = 0; i < count; i++) sorted[i] = all[i];
    qsort(sorted, count, sizeof *sorted, ascending);
    /* The lowest level around which a hundredth of all readings lie. */
    int at = 0;
    while (at + count / 100 < count - 1 && sorted[at + count / 100] > sorted[at] * 1.015) at++;
    double level = sorted[at + count / 200];
    for (int turn = 0; turn < turns; turn++) {
        int quiet = 0;
        for (int i = ends[turn]; i < ends[turn + 1]; i++) quiet += all[i] < level * 1.04;
        printf("%s between bursts: %.0f %% quiet\n", turn % 2 ? "busy  " : "asleep", 100.0 * quiet / (ends[turn + 1] - ends[turn]));
    }
    return 0;
}
