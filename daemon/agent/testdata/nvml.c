// A stand-in for the NVIDIA driver's library, of two GPUs. What it does otherwise is in
// NVML_FAKE, which is read at each call: "gone" (no driver), "mig", "lost" (of the second
// GPU nothing is told) and "mute" (nothing beyond a handle).
#include <stdlib.h>
#include <string.h>

enum { OK, UNINITIALIZED, INVALID, NOT_SUPPORTED, NO_PERMISSION, SMALL = 7, NO_DRIVER = 9, LOST = 15 };

static int is(const char *what) {
	const char *v = getenv("NVML_FAKE");
	return v && !strcmp(v, what);
}

static int up; // initialised

int nvmlInit_v2(void) { return is("gone") ? NO_DRIVER : (up = 1, OK); }
int nvmlShutdown(void) { return up ? (up = 0, OK) : UNINITIALIZED; }
const char *nvmlErrorString(int ret) { return ret == NO_DRIVER ? "Driver Not Loaded" : "Uninitialized"; }

int nvmlDeviceGetCount_v2(unsigned *n) {
	if (is("gone")) return up = 0, NO_DRIVER;
	if (!up) return UNINITIALIZED;
	*n = 2;
	return OK;
}

static int of[2] = {0, 1};

int nvmlDeviceGetHandleByIndex_v2(unsigned i, int **d) {
	*d = &of[i];
	return i && is("lost") ? LOST : OK;
}

int nvmlDeviceGetUtilizationRates(int *d, unsigned u[2]) { return is("mute") ? NOT_SUPPORTED : (u[0] = *d ? 0 : 97, u[1] = 50, OK); }
int nvmlDeviceGetMigMode(int *d, unsigned *now, unsigned *next) { return *now = *next = is("mig"), is("mute") ? NOT_SUPPORTED : OK; }
int nvmlDeviceGetPowerUsage(int *d, unsigned *mw) { return is("mute") ? NOT_SUPPORTED : (*mw = *d ? 71250 : 512500, OK); }
int nvmlDeviceGetEnforcedPowerLimit(int *d, unsigned *mw) { return is("mute") ? NOT_SUPPORTED : (*mw = 700000, OK); }

struct memory { unsigned long long total, free, used; };

int nvmlDeviceGetMemoryInfo(int *d, struct memory *m) {
	if (is("mute")) return NOT_SUPPORTED;
	m->total = 81559ull << 20;
	m->used = (*d ? 600ull : 70596ull) << 20; // with what the driver keeps
	return OK;
}

#ifndef OLD // what drivers of some years ago do not have
struct memory2 { unsigned version; unsigned long long total, reserved, free, used; };

int nvmlDeviceGetMemoryInfo_v2(int *d, struct memory2 *m) {
	if (is("mute")) return NOT_SUPPORTED;
	m->total = 81559ull << 20;
	m->used = (*d ? 4ull : 70000ull) << 20;
	return OK;
}

int nvmlDeviceGetTotalEnergyConsumption(int *d, unsigned long long *mj) { return is("mute") ? NOT_SUPPORTED : (*mj = *d ? 1500 : 123456500ull, OK); }
#endif

struct process { unsigned pid; unsigned long long memory; unsigned gpu, compute; };

// One process is on both GPUs; of another the memory is not told.
int nvmlDeviceGetComputeRunningProcesses_v3(int *d, unsigned *n, struct process *p) {
	unsigned room = *n;
	if (is("mute")) return NO_PERMISSION;
	*n = *d ? 1 : 2;
	if (room < *n) return SMALL;
	p[0] = (struct process){4242, (*d ? 1024ull : 69000ull) << 20, -1, -1};
	if (!*d) p[1] = (struct process){901, -1, -1, -1};
	return OK;
}
int nvmlDeviceGetComputeRunningProcesses(int *d, unsigned *n, struct process *p) { return nvmlDeviceGetComputeRunningProcesses_v3(d, n, p); }
