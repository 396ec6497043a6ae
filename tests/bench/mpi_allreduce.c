// MPI_Allreduce beside hfreduce-bench: the same data, the same check, the same way of taking times. fp32, sum.
//
//   mpirun -np NODES mpi_allreduce BYTES ITERATIONS WARMUP [BUFFERS [CHUNK_BYTES]]
//
// With several buffers each process stands for a node with so many GPUs: chunk by chunk it adds up its buffers
// (MPI_Reduce_local), reduces the sum over all processes (MPI_Allreduce) and copies the result into every buffer.
// Rank 0 prints one line of JSON: times are the slowest rank's of each iteration, in microseconds.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { kBuffersMax = 64 };

typedef struct {
  int rank, ranks, iterations, warmup, buffers;
  size_t elements, chunk_elements;
  float* in[kBuffersMax];
  float* out[kBuffersMax];
  float* sum;  // of a chunk of this process' buffers
} Bench;

// Buffers are numbered over all processes. Sums of these are exact.
static float DigitOf(int buffer, size_t i) { return (float)((i + (size_t)buffer) % 3); }

static double CpuMicroseconds(void) {
  struct rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return 1e6 * (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
         (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

static void* Allocate(size_t bytes) {
  void* memory = malloc(bytes > 0 ? bytes : 1);
  if (memory == NULL) {
    fprintf(stderr, "mpi_allreduce: no memory\n");
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return memory;
}

static void MakeBuffers(Bench* bench) {
  for (int b = 0; b < bench->buffers; ++b) {
    bench->in[b] = Allocate(bench->elements * sizeof(float));
    bench->out[b] = Allocate(bench->elements * sizeof(float));
    for (size_t i = 0; i < bench->elements; ++i) bench->in[b][i] = DigitOf(bench->rank * bench->buffers + b, i);
    memset(bench->out[b], 1, bench->elements * sizeof(float));
  }
  bench->sum = Allocate(bench->chunk_elements * sizeof(float));
}

static void AllReduceOnce(const Bench* bench) {
  if (bench->buffers == 1) {
    MPI_Allreduce(bench->in[0], bench->out[0], (int)bench->elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    return;
  }
  for (size_t begin = 0; begin < bench->elements; begin += bench->chunk_elements) {
    const size_t left = bench->elements - begin;
    const size_t count = left < bench->chunk_elements ? left : bench->chunk_elements;
    memcpy(bench->sum, bench->in[0] + begin, count * sizeof(float));
    for (int b = 1; b < bench->buffers; ++b) {
      MPI_Reduce_local(bench->in[b] + begin, bench->sum, (int)count, MPI_FLOAT, MPI_SUM);
    }
    MPI_Allreduce(bench->sum, bench->out[0] + begin, (int)count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    for (int b = 1; b < bench->buffers; ++b) {
      memcpy(bench->out[b] + begin, bench->out[0] + begin, count * sizeof(float));
    }
  }
}

static int ResultIsRight(const Bench* bench) {
  float wanted[3] = {0, 0, 0};
  for (int buffer = 0; buffer < bench->ranks * bench->buffers; ++buffer) {
    for (size_t i = 0; i < 3; ++i) wanted[i] += DigitOf(buffer, i);
  }
  for (int b = 0; b < bench->buffers; ++b) {
    for (size_t i = 0; i < bench->elements; ++i) {
      if (bench->out[b][i] != wanted[i % 3]) return 0;
    }
  }
  return 1;
}

static int Ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static void Tell(const Bench* bench, double* times, double cpu_us) {
  qsort(times, (size_t)bench->iterations, sizeof(double), Ascending);
  const double median = times[bench->iterations / 2];
  const double bytes = (double)(bench->elements * sizeof(float));
  printf("{\"bench\": \"openmpi\", \"ranks\": %d, \"buffers\": %d, \"bytes\": %.0f, \"iters\": %d, "
         "\"median_us\": %.3f, \"best_us\": %.3f, \"cpu_us\": %.3f, \"algbw_GBps\": %.4f, \"checked\": true}\n",
         bench->ranks, bench->buffers, bytes, bench->iterations, median, times[0], cpu_us / bench->iterations,
         bytes / median / 1e3);
}

// Returns whether the result was right, on every rank.
static int Measure(const Bench* bench) {
  double* times = Allocate((size_t)bench->iterations * sizeof(double));
  double cpu_us = 0;
  for (int i = 0; i < bench->warmup + bench->iterations; ++i) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double cpu_before = CpuMicroseconds();
    const double began = MPI_Wtime();
    AllReduceOnce(bench);
    const double took = MPI_Wtime() - began;
    if (i < bench->warmup) continue;
    cpu_us += CpuMicroseconds() - cpu_before;
    times[i - bench->warmup] = took * 1e6;
  }
  const int right = ResultIsRight(bench);
  int all_right = 0;
  double cpu_us_all = 0;
  double* slowest = Allocate((size_t)bench->iterations * sizeof(double));
  MPI_Reduce(times, slowest, bench->iterations, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  MPI_Reduce(&cpu_us, &cpu_us_all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Allreduce(&right, &all_right, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
  if (bench->rank == 0 && all_right) Tell(bench, slowest, cpu_us_all);
  if (bench->rank == 0 && !all_right) fprintf(stderr, "mpi_allreduce: the result is wrong\n");
  free(times);
  free(slowest);
  return all_right;
}

int main(int argc, char** argv) {
  Bench bench = {.buffers = 1, .chunk_elements = (4 << 20) / sizeof(float)};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &bench.rank);
  MPI_Comm_size(MPI_COMM_WORLD, &bench.ranks);
  if (argc >= 4) {
    bench.elements = strtoull(argv[1], NULL, 10) / sizeof(float);
    bench.iterations = atoi(argv[2]);
    bench.warmup = atoi(argv[3]);
  }
  if (argc >= 5) bench.buffers = atoi(argv[4]);
  if (argc >= 6) bench.chunk_elements = strtoull(argv[5], NULL, 10) / sizeof(float);
  if (bench.iterations < 1 || bench.buffers < 1 || bench.buffers > kBuffersMax || bench.chunk_elements < 1) {
    fprintf(stderr, "usage: mpi_allreduce BYTES ITERATIONS WARMUP [BUFFERS [CHUNK_BYTES]]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  MakeBuffers(&bench);
  const int right = Measure(&bench);
  for (int b = 0; b < bench.buffers; ++b) {
    free(bench.in[b]);
    free(bench.out[b]);
  }
  free(bench.sum);
  MPI_Finalize();
  return right ? 0 : 1;
}
