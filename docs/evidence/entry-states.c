/* On some machines a system call has several steady times, each of which lasts for milliseconds to minutes.
 *
 * On CPU 1, batches of 93 getppid are timed beside a chain of dependent multiplications of 3 cycles each, on both sides; batches
 * whose chains differ by more than 0.5 % are left out. Prints quantiles of the cycles per call for every tenth of a second; with a
 * second argument, the median of each of so many processes, which take turns of a tenth of a second. x86-64 only.
 *
 *   cc -O2 docs/evidence/entry-states.c -o /tmp/entry-states && /tmp/entry-states 60 && /tmp/entry-states 60 4
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <x86intrin.h>

enum { CALLS = 93, SHORT = 200, LONG = 1200, MOST = 100000, CYCLES_OF_ONE = 3, PROCESSES = 16 };

static void multiply(int count) {
    uint64_t x = 3;
    for (int i = 0; i < count / 10; i++)
        __asm__ volatile("imul %0, %0\n imul %0, %0\n imul %0, %0\n imul %0, %0\n imul %0, %0\n"
                         "imul %0, %0\n imul %0, %0\n imul %0, %0\n imul %0, %0\n imul %0, %0\n" : "+r"(x));
}

/* Ticks of the time stamp counter in a cycle of the core. */
static double ticks_of_a_cycle(void) {
    uint64_t start = __rdtsc();
    multiply(SHORT);
    uint64_t middle = __rdtsc();
    multiply(LONG);
    uint64_t end = __rdtsc();
    return ((double)(end - middle) - (double)(middle - start)) / (LONG - SHORT) / CYCLES_OF_ONE;
}

static long getppid_alone(void) {
    long result;
    __asm__ volatile("syscall" : "=a"(result) : "a"(SYS_getppid) : "rcx", "r11", "memory");
    return result;
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    int tenths = argc > 1 ? atoi(argv[1]) : 60;
    int processes = argc > 2 ? atoi(argv[2]) : 1;
    if (tenths < 1 || tenths > 6000 || processes < 1 || processes > PROCESSES) return 2;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(1, &one);
    if (sched_setaffinity(0, sizeof one, &one)) return 1;
    /* A token goes round: each process reads it from its own pipe, and writes it to that of the next one. */
    int pipes[PROCESSES][2], own = 0;
    char token = 0;
    for (int i = 0; i < processes; i++)
        if (pipe(pipes[i])) return 1;
    for (int i = 1; i < processes && own == 0; i++)
        if (fork() == 0) own = i;
    if (own == 0 && write(pipes[0][1], &token, 1) != 1) return 1;
    static double cycles[MOST];
    for (int tenth = 0; tenth < tenths; tenth++) {
        if (read(pipes[own][0], &token, 1) != 1) return 1;
        int count = 0;
        double spent = 0;
        while (spent < 0.1 * 2.5e9 && count < MOST) {
            uint64_t begin = __rdtsc();
            double before = ticks_of_a_cycle();
            uint64_t start = __rdtsc();
            for (int i = 0; i < CALLS; i++) getppid_alone();
            uint64_t end = __rdtsc();
            double after = ticks_of_a_cycle();
            spent += (double)(__rdtsc() - begin);
            if (before > 0 && after > 0 && before / after < 1.005 && after / before < 1.005)
                cycles[count++] = (double)(end - start) / CALLS / ((before + after) / 2);
        }
        qsort(cycles, count, sizeof *cycles, ascending);
        if (processes == 1 && count >= 20)
            printf("cycles per call: 5 %% %.1f, median %.1f, 95 %% %.1f\n", cycles[count / 20], cycles[count / 2],
                   cycles[count * 19 / 20]);
        else if (processes > 1)
            printf("%.1f%c", count >= 20 ? cycles[count / 2] : 0.0, own == processes - 1 ? '\n' : ' ');
        fflush(stdout);
        if (write(pipes[(own + 1) % processes][1], &token, 1) != 1) return 1;
    }
    while (wait(NULL) > 0) {}
    return 0;
}
