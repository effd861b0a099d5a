/* Does an all-reduce over these ranks give the right sums, and how fast?
 *
 * usage: muster-allreduce BYTES ITERATIONS
 *
 * Every rank contributes known whole numbers, so each sum is exact in a double and is compared with
 * ==. Rank 0 prints one line of JSON; `wrong` counts elements that differ, over all ranks and
 * iterations, and `wrong_hosts` names who saw them. `busbw` is bytes/s in the usual convention:
 * 2(n-1)/n x bytes / time, of the median iteration; the time of an iteration is that of its slowest
 * rank. The caller must compare `ranks` and `hosts` with what it asked for: a launcher without PMIx
 * starts n programs of one rank each, and all of them exit with 0.
 */
#include <errno.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_BYTES = 256, PATTERN = 17, MAX_ITERATIONS = 10000 };

static double term(size_t i, int iteration, int rank) {
    return (double)((i + (size_t)iteration) % PATTERN + 1) * (rank + 1);
}

static double expected(size_t i, int iteration, int ranks) {
    return (double)((i + (size_t)iteration) % PATTERN + 1) * ((double)ranks * (ranks + 1) / 2);
}

static long parse(const char *text, long max) {
    char *end = NULL;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < 1 || value > max) return -1;
    return value;
}

static int ascending(const void *left, const void *right) {
    double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Host names come from the system: anything that JSON would need escaped becomes '_'. */
static void own_name(char *name) {
    char full[MPI_MAX_PROCESSOR_NAME] = {0};
    int length = 0;
    MPI_Get_processor_name(full, &length);
    memset(name, 0, NAME_BYTES);
    for (int i = 0; i < length && i < NAME_BYTES - 1; i++) {
        char c = full[i];
        name[i] = (c < ' ' || c > '~' || c == '"' || c == '\\') ? '_' : c;
    }
}

static long one_iteration(const double *in, double *out, size_t count, int iteration, int ranks,
                          double *slowest) {
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    MPI_Allreduce(in, out, (int)count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double taken = MPI_Wtime() - start;
    MPI_Allreduce(&taken, slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    long wrong = 0;
    for (size_t i = 0; i < count; i++) wrong += out[i] != expected(i, iteration, ranks);
    return wrong;
}

static void print_hosts(const char *key, const char *names, const long *wrong, int ranks) {
    const char *separator = "";
    printf("\"%s\": [", key);
    for (int r = 0; r < ranks; r++) {
        if (wrong != NULL && wrong[r] == 0) continue;
        printf("%s\"%s\"", separator, names + (size_t)r * NAME_BYTES);
        separator = ", ";
    }
    printf("]");
}

static void report(const double *times, int iterations, size_t bytes, int ranks, const char *names,
                   const long *wrong) {
    double *sorted = malloc(sizeof *sorted * (size_t)iterations);
    if (sorted == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
    memcpy(sorted, times, sizeof *sorted * (size_t)iterations);
    qsort(sorted, (size_t)iterations, sizeof *sorted, ascending);
    double median = sorted[iterations / 2];
    long total = 0;
    for (int r = 0; r < ranks; r++) total += wrong[r];
    double busbw = median > 0 ? 2.0 * (ranks - 1) / ranks * (double)bytes / median : 0;
    printf("{\"program\": \"muster-allreduce\", \"ranks\": %d, \"bytes\": %zu, \"iterations\": %d, "
           "\"median_s\": %.9f, \"min_s\": %.9f, \"max_s\": %.9f, \"busbw\": %.1f, \"wrong\": %ld, ",
           ranks, bytes, iterations, median, sorted[0], sorted[iterations - 1], busbw, total);
    print_hosts("hosts", names, NULL, ranks);
    printf(", ");
    print_hosts("wrong_hosts", names, wrong, ranks);
    printf("}\n");
    fflush(stdout);
    free(sorted);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    int rank = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    /* MPI_Allreduce counts in int. */
    long bytes = argc == 3 ? parse(argv[1], (long)INT_MAX * (long)sizeof(double)) : -1;
    long iterations = argc == 3 ? parse(argv[2], MAX_ITERATIONS) : -1;
    if (bytes < (long)sizeof(double) || iterations < 1) {
        if (rank == 0) fprintf(stderr, "usage: muster-allreduce BYTES(>=8) ITERATIONS(1-10000)\n");
        MPI_Finalize();
        return 2;
    }
    size_t count = (size_t)bytes / sizeof(double);
    double *in = malloc(count * sizeof *in), *out = malloc(count * sizeof *out);
    double *times = malloc(sizeof *times * (size_t)iterations);
    char *names = calloc((size_t)ranks, NAME_BYTES);
    long *wrong_of = calloc((size_t)ranks, sizeof *wrong_of);
    if (!in || !out || !times || !names || !wrong_of) MPI_Abort(MPI_COMM_WORLD, 3);
    char name[NAME_BYTES];
    own_name(name);
    MPI_Gather(name, NAME_BYTES, MPI_CHAR, names, NAME_BYTES, MPI_CHAR, 0, MPI_COMM_WORLD);

    long wrong = 0;
    /* Iteration -1 warms up connections: checked, not timed. */
    for (int iteration = -1; iteration < iterations; iteration++) {
        int salt = iteration + 1;
        double slowest = 0;
        for (size_t i = 0; i < count; i++) in[i] = term(i, salt, rank);
        wrong += one_iteration(in, out, count, salt, ranks, &slowest);
        if (iteration >= 0) times[iteration] = slowest;
    }
    MPI_Gather(&wrong, 1, MPI_LONG, wrong_of, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    if (rank == 0) report(times, (int)iterations, count * sizeof *in, ranks, names, wrong_of);
    free(in); free(out); free(times); free(names); free(wrong_of);
    MPI_Finalize();
    return 0;
}
