/* Signals that arrive while products run: their handlers have a stack of their own, as oneDNN keeps
 * the stack register in the heap then (engine/signal_stack.h). */
#include "testing.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/time.h>

#include "nn/pass.h"

enum { WIDTH = 256, COUNT = 128, CLASSES = 4, WANTED = 200, STEPS_MAX = 20000 };

static atomic_int apart, elsewhere;

static void note(int number)
{
    stack_t now;
    (void)number;
    bool own = sigaltstack(NULL, &now) == 0 && now.ss_flags & SS_ONSTACK;
    atomic_fetch_add(own ? &apart : &elsewhere, 1);
}

static gn_network *make_network(gerne_ctx *ctx, gn_device *device)
{
    static const int64_t hidden[] = {WIDTH, WIDTH};
    const gn_model_options options = {.arch = "mlp", .hidden = {hidden, 2}};
    gn_network *network;
    assert_ok(ctx, gn_network_new(ctx, device, &options, gn_features_shape(WIDTH), CLASSES, COUNT,
                                  &network));
    assert_ok(ctx, gn_network_initialize(ctx, network, 6));
    return network;
}

/* Trains until enough signals have come. */
static void *train(void *user)
{
    gn_device *device = user;
    static float features[COUNT][WIDTH];
    const void *rows[COUNT];
    int32_t labels[COUNT];
    gerne_ctx *ctx = test_ctx();
    gn_device_enter(device);
    gn_network *network = make_network(ctx, device);
    for (int i = 0; i < COUNT; i++) {
        for (int j = 0; j < WIDTH; j++)
            features[i][j] = (float)((i * 31 + j * 17) % 23) / 23;
        rows[i] = features[i];
        labels[i] = i % CLASSES;
    }
    const gn_samples samples = {.count = COUNT, .fields = {rows}, .labels = labels};
    for (int i = 0; i < STEPS_MAX && atomic_load(&apart) + atomic_load(&elsewhere) < WANTED; i++)
        assert_ok(ctx, gn_pass_step(ctx, network, &samples, NULL, false, &(gn_outcome){0}));
    gn_network_close(network);
    gerne_ctx_close(ctx);
    return NULL;
}

static void ring(int microseconds)
{
    const struct itimerval often = {{0, microseconds}, {0, microseconds}};
    assert_int_equal(setitimer(ITIMER_PROF, &often, NULL), 0);
}

static void handlers_have_a_stack_of_their_own(void **state)
{
    (void)state;
    gerne_ctx *ctx = test_ctx();
    gn_device *device;
    pthread_t other;
    const struct sigaction action = {.sa_handler = note, .sa_flags = SA_ONSTACK | SA_RESTART};
    assert_ok(ctx, gn_device_new(ctx, 2, GN_FP32, &device));
    assert_int_equal(sigaction(SIGPROF, &action, NULL), 0);
    ring(500);
    train(device);
    ring(0);
    assert_true(atomic_load(&apart) > 0);
    assert_int_equal(atomic_load(&elsewhere), 0);
    /* So does another thread that enters the device; this one, which only waits, takes no signal.
     */
    atomic_store(&apart, 0);
    sigset_t blocked;
    sigemptyset(&blocked);
    assert_int_equal(pthread_create(&other, NULL, train, device), 0);
    sigaddset(&blocked, SIGPROF);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    ring(500);
    pthread_join(other, NULL);
    ring(0);
    assert_true(atomic_load(&apart) > 0);
    gn_device_close(device);
    gerne_ctx_close(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(handlers_have_a_stack_of_their_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
