/* cc -O2 -pthread -o foreground examples/concurrency/foreground.c && ./foreground threads 8 45 1
 *
 * The wake-up delay of a task of ordinary priority while CPU-bound jobs run: the loop of crates/areas/jobs/jobs/src/foreground.rs.
 * Prints the delays in ns of which half, 90 % and 99 % of the wake-ups have at most that, and the worst. Arguments: serial, or threads
 * for a thread per job; the number of jobs; the length of each in ms; and the number of CPUs for all of them, the last allowed ones. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "../work.h"

enum { JOBS_AT_MOST = 1024, WAKE_UPS_AT_MOST = 100000 };
static const uint64_t INTERVAL = 5000000;

static volatile int stopped, ready;
static uint64_t turns;
static uint64_t planned[WAKE_UPS_AT_MOST], delays[WAKE_UPS_AT_MOST];
static size_t wake_ups;

static void sleep_until(uint64_t time)
{
    struct timespec end = {time / 1000000000, time % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &end, NULL) == EINTR)
        ;
}

/* The task: sleeps for half to one and a half intervals, again and again. */
static void *wake_up_often(void *unused)
{
    uint64_t random = now() | 1;
    prctl(PR_SET_TIMERSLACK, 1UL);
    ready = 1;
    while (!stopped) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        uint64_t time = now() + INTERVAL / 2 + random % INTERVAL;
        sleep_until(time);
        uint64_t at = now();
        if (wake_ups < WAKE_UPS_AT_MOST) {
            planned[wake_ups] = time;
            delays[wake_ups++] = at > time ? at - time : 1;
        }
    }
    return unused;
}

static void *job(void *unused)
{
    work(turns);
    return unused;
}

static void carry_out(int jobs, int with_threads)
{
    static pthread_t all[JOBS_AT_MOST];
    for (int i = 0; i < jobs; i++) {
        if (with_threads)
            check((errno = pthread_create(&all[i], NULL, job, NULL)), "thread");
        else
            job(NULL);
    }
    for (int i = 0; i < jobs && with_threads; i++)
        pthread_join(all[i], NULL);
}

/* Keeps the process on the last allowed CPUs. */
static void keep_to(int number)
{
    cpu_set_t allowed, chosen;
    check(sched_getaffinity(0, sizeof allowed, &allowed), "sched_getaffinity");
    CPU_ZERO(&chosen);
    for (int cpu = CPU_SETSIZE - 1; cpu >= 0 && number > 0; cpu--)
        if (CPU_ISSET(cpu, &allowed)) {
            CPU_SET(cpu, &chosen);
            number--;
        }
    check(sched_setaffinity(0, sizeof chosen, &chosen), "sched_setaffinity");
}

/* The p quantile of ascending values, interpolated. */
static double quantile(const uint64_t *values, size_t count, double p)
{
    double at = p * (count - 1);
    size_t below = (size_t)at, above = below + 1 < count ? below + 1 : below;
    return values[below] + (at - below) * ((double)values[above] - values[below]);
}

int main(int count, char **arguments)
{
    if (count != 5 || atoi(arguments[2]) < 1 || atoi(arguments[2]) > JOBS_AT_MOST || atoi(arguments[4]) < 1) {
        fprintf(stderr, "usage: foreground serial|threads JOBS LENGTH_MS CPUS\n");
        return 2;
    }
    int jobs = atoi(arguments[2]), with_threads = strcmp(arguments[1], "threads") == 0;
    keep_to(atoi(arguments[4]));
    turns = (uint64_t)(atof(arguments[3]) * 1e6 / ns_per_turn() + 0.5);
    pthread_t task;
    check((errno = pthread_create(&task, NULL, wake_up_often, NULL)), "thread");
    while (!ready)
        sched_yield();
    uint64_t start = now();
    carry_out(jobs, with_threads);
    uint64_t end = now();
    stopped = 1;
    pthread_join(task, NULL);
    size_t within = 0;
    for (size_t i = 0; i < wake_ups; i++)
        if (planned[i] >= start && planned[i] <= end)
            delays[within++] = delays[i];
    if (within == 0) {
        fprintf(stderr, "the jobs ended before the task woke up\n");
        return 3;
    }
    qsort(delays, within, sizeof delays[0], ascending);
    printf("%.0f %.0f %.0f %.0f\n", quantile(delays, within, 0.5), quantile(delays, within, 0.9),
           quantile(delays, within, 0.99), quantile(delays, within, 1));
    return 0;
}
