/* cc -O2 -fPIC -shared -I include -o getppid.so examples/op/getppid.c && oscost run --op ./getppid.so */
#include <unistd.h>

#include "oscost.h"

OSCOST_NAME("getppid in C")

static volatile pid_t parent;

int oscost_operation(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        parent = getppid();
    return 0;
}

double oscost_expected_syscalls(void)
{
    return 1;
}
