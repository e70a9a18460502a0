/* Stands for an agent: starts itself anew by its own path, as an agent does for each round, and answers each line it reads. As
   the first process of a kernel it does so over the device that OSCOST_CHANNEL names. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <termios.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char line[4096];
	const char *channel = getenv("OSCOST_CHANNEL");

	if (argc == 2) {
		if (getpid() == 1)
			mount("proc", "/proc", "proc", 0, NULL);
		execl("/proc/self/exe", argv[0], argv[1], "anew", NULL);
		perror("/proc/self/exe");
		return 1;
	}
	if (channel && getpid() == 1) {
		struct termios raw;
		int device = open(channel, O_RDWR | O_NOCTTY);

		if (device < 0 || tcgetattr(device, &raw) < 0)
			return 1;
		cfmakeraw(&raw);
		tcsetattr(device, TCSANOW, &raw);
		dup2(device, 0);
		dup2(device, 1);
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("ready as %s\n", argc > 1 ? argv[1] : "nothing");
	fprintf(stderr, "an error\n");
	while (fgets(line, sizeof line, stdin))
		printf("got %s", line);
	return 0;
}
