/* The bare loop that `oscost run file/small` is held against: N files of SIZE bytes in a fresh directory,
 * created and written, read, asked for their size, renamed, listed and deleted, one at a time.
 *
 *     gcc -O2 -o small-files docs/evidence/small-files.c
 *     ./small-files DIRECTORY N SIZE
 *
 * Prints the time of each phase in ns per file, on one line: create read stat rename list delete.
 */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MUST(what) do { if (!(what)) { perror(#what); exit(1); } } while (0)

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

int main(int argc, char **argv)
{
    MUST(argc == 4);
    int n = atoi(argv[2]), size = atoi(argv[3]);
    char *buffer = malloc(size + 1), folder[4096];
    unsigned long long x = 88172645463325252ULL;
    for (int i = 0; i < size; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        buffer[i] = x;
    }
    snprintf(folder, sizeof folder, "%s/small-files-%d", argv[1], (int)getpid());
    MUST(mkdir(folder, 0700) == 0);
    char (*old)[4160] = malloc((size_t)n * 4160), (*new)[4160] = malloc((size_t)n * 4160);
    for (int i = 0; i < n; i++) {
        snprintf(old[i], 4160, "%s/f%07d", folder, i);
        snprintf(new[i], 4160, "%s/g%07d", folder, i);
    }
    double t[7];
    t[0] = now_ns();
    for (int i = 0; i < n; i++) {
        int fd = open(old[i], O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        MUST(fd >= 0);
        MUST(size == 0 || write(fd, buffer, size) == size);
        close(fd);
    }
    t[1] = now_ns();
    for (int i = 0; i < n; i++) {
        int fd = open(old[i], O_RDONLY | O_CLOEXEC);
        MUST(fd >= 0);
        MUST(read(fd, buffer, size + 1) == size);
        close(fd);
    }
    t[2] = now_ns();
    for (int i = 0; i < n; i++) {
        struct stat s;
        MUST(stat(old[i], &s) == 0 && s.st_size == size);
    }
    t[3] = now_ns();
    for (int i = 0; i < n; i++)
        MUST(rename(old[i], new[i]) == 0);
    t[4] = now_ns();
    DIR *d = opendir(folder);
    int seen = 0;
    for (struct dirent *e; (e = readdir(d)); )
        seen += e->d_name[0] == 'g';
    closedir(d);
    MUST(seen == n);
    t[5] = now_ns();
    for (int i = 0; i < n; i++)
        MUST(unlink(new[i]) == 0);
    t[6] = now_ns();
    MUST(rmdir(folder) == 0);
    for (int i = 0; i < 6; i++)
        printf("%.0f%c", (t[i + 1] - t[i]) / n, i < 5 ? ' ' : '\n');
    return 0;
}
