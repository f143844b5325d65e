#include "nn/split_pass.h"

#include <string.h>

#include "base/memory.h"
#include "ranks/ranks.h"

/* The arrays of the whole batch, and what travels: a head and the rows of one micro-batch. */
struct gn_split_room {
    size_t samples;                     /* that there is room for */
    float *logits, *logit_gradient;     /* [samples][classes] */
    float *features, *feature_gradient; /* [samples][width]; NULL unless they are asked for */
    char *own, *all;                    /* one message, and those of all ranks */
    size_t message;                     /* bytes that there is room for */
    bool summing;                       /* gradients, in backward */
};

typedef struct message_head {
    uint64_t first, count; /* in the batch */
    uint64_t more;         /* samples of this rank after these */
} message_head;

void gn_split_room_close(gn_split_room *room)
{
    if (!room)
        return;
    gn_free(room->logits);
    gn_free(room->logit_gradient);
    gn_free(room->features);
    gn_free(room->feature_gradient);
    gn_free(room->own);
    gn_free(room->all);
    gn_free(room);
}

/* A pass that is under way. */
typedef struct split {
    gerne_ctx *ctx;
    gn_network *network;
    gn_split_room *room;
    const gn_samples *all;
    gn_samples own;
    size_t first, done; /* where the share begins; samples of it that have run */
    size_t classes, width;
    const gn_loss *loss;
    const gn_outcome *outcome;
    bool features; /* travel too */
} split;

/* ---- the share ---- */

size_t gn_split_unit(const gn_samples *samples)
{
    return samples->in_pairs ? 2 : 1;
}

static gn_share share_of(const gerne_ctx *ctx, const gn_samples *samples)
{
    const gn_ranks *ranks = gn_ranks_of(ctx);
    return gn_ranks_share(ranks, gn_ranks_rank(ranks), samples->count, gn_split_unit(samples));
}

gn_samples gn_split_own(const gerne_ctx *ctx, const gn_samples *samples)
{
    gn_share share = share_of(ctx, samples);
    gn_samples own = *samples;
    own.count = share.end - share.first;
    own.place += share.first;
    own.labels = samples->labels ? samples->labels + share.first : NULL;
    own.weights = samples->weights ? samples->weights + share.first : NULL;
    for (int f = 0; f < GN_FIELDS_MAX && samples->fields[f]; f++)
        own.fields[f] = samples->fields[f] + share.first;
    return own;
}

static gn_mixture own_mixture(const gn_mixture *all, size_t first)
{
    gn_mixture own = *all;
    own.labels += first;
    own.share += first;
    own.boxes = all->boxes ? all->boxes + first : NULL;
    for (int f = 0; f < GN_FIELDS_MAX && all->fields[f]; f++)
        own.fields[f] += first;
    return own;
}

/* A sample that only other ranks have read is a batch that the method made of other samples than
 * its plan says. */
static gerne_status check_read(const split *s)
{
    for (size_t i = 0; i < s->own.count; i++)
        if (!s->own.fields[0][i] || (s->own.mixture && !s->own.mixture->fields[0][i]))
            return gn_fail(
                s->ctx, GERNE_EINTERNAL,
                "a rank needs a sample that it has not read: the plan of this method has "
                "to set everywhere");
    size_t batch = (size_t)gn_network_batch(s->network);
    if (gn_network_couples_samples(s->network) && s->own.count != batch)
        return gn_fail(s->ctx, GERNE_EINTERNAL,
                       "a share of %zu samples on a network that was built for %zu", s->own.count,
                       batch);
    return GERNE_OK;
}

/* ---- room ---- */

static gerne_status renew(gerne_ctx *ctx, float **array, size_t count)
{
    gn_free(*array);
    *array = NULL;
    return gn_alloc(ctx, count, sizeof **array, "a batch of all ranks", array);
}

static gerne_status reserve_samples(const split *s, bool features)
{
    gn_split_room *room = s->room;
    size_t n = s->all->count, most = n + n / 4;
    if (n > room->samples) {
        room->samples = 0;
        GN_TRY(renew(s->ctx, &room->logits, most * s->classes));
        GN_TRY(renew(s->ctx, &room->logit_gradient, most * s->classes));
        gn_free(room->features);
        gn_free(room->feature_gradient);
        room->features = room->feature_gradient = NULL;
        room->samples = most;
    }
    if (!features || room->features)
        return GERNE_OK;
    GN_TRY(renew(s->ctx, &room->feature_gradient, room->samples * s->width));
    return renew(s->ctx, &room->features, room->samples * s->width);
}

static size_t row_of(const split *s)
{
    return (s->classes + (s->features ? s->width : 0)) * sizeof(float);
}

static size_t message_size(const split *s)
{
    return sizeof(message_head) + (size_t)gn_network_batch(s->network) * row_of(s);
}

static gerne_status reserve_message(gerne_ctx *ctx, gn_split_room *room, size_t size)
{
    size_t ranks = (size_t)gn_ranks_size(gn_ranks_of(ctx));
    if (size <= room->message)
        return GERNE_OK;
    gn_free(room->own);
    gn_free(room->all);
    room->own = room->all = NULL;
    room->message = 0;
    GN_TRY(gn_alloc(ctx, 1, size, "a message to other ranks", &room->own));
    GN_TRY(gn_alloc(ctx, ranks, size, "messages of all ranks", &room->all));
    room->message = size;
    return GERNE_OK;
}

/* ---- one micro-batch of every rank ---- */

/* What this rank's network says about n samples from done on goes to all. */
static gerne_status exchange(const split *s, size_t n)
{
    const message_head head = {s->first + s->done, n, s->own.count - s->done - n};
    size_t logits = n * s->classes * sizeof(float);
    char *at = s->room->own;
    memcpy(at, &head, sizeof head);
    at += sizeof head;
    memcpy(at, gn_logits(s->network), logits);
    if (s->features)
        memcpy(at + logits, gn_features(s->network), n * s->width * sizeof(float));
    return gn_ranks_gather(s->ctx, s->room->own, message_size(s), s->room->all);
}

/* The rows of a message to their places in the batch. */
static message_head unpack(const split *s, int rank)
{
    const char *at = s->room->all + (size_t)rank * message_size(s);
    message_head head;
    memcpy(&head, at, sizeof head);
    at += sizeof head;
    size_t logits = head.count * s->classes * sizeof(float);
    memcpy(s->room->logits + head.first * s->classes, at, logits);
    if (s->features)
        memcpy(s->room->features + head.first * s->width, at + logits,
               head.count * s->width * sizeof(float));
    return head;
}

static void take_outcome(const split *s, size_t first, size_t count)
{
    const gn_outcome *o = s->outcome;
    const float *logits = s->room->logits + first * s->classes;
    if (o->logits)
        memcpy(o->logits + first * s->classes, logits, count * s->classes * sizeof(float));
    if (o->predictions)
        gn_predict(logits, count, s->classes, o->predictions + first);
    if (o->features)
        memcpy(o->features + first * s->width, s->room->features + first * s->width,
               count * s->width * sizeof(float));
}

/* Consecutive samples, of one or several ranks. */
static void evaluate(const split *s, size_t first, size_t count, bool backward)
{
    gn_split_room *room = s->room;
    take_outcome(s, first, count);
    if (!s->loss || count == 0)
        return;
    gn_loss_part part = {
        .first = first,
        .count = count,
        .classes = s->classes,
        .width = s->width,
        .logits = room->logits + first * s->classes,
        .features = s->features ? room->features + first * s->width : NULL,
        .losses = s->outcome->losses ? s->outcome->losses + first : NULL,
        .logit_gradient = backward ? room->logit_gradient + first * s->classes : NULL,
    };
    if (backward && s->loss->wants_features && gn_network_trains_body(s->network)) {
        part.feature_gradient = room->feature_gradient + first * s->width;
        memset(part.feature_gradient, 0, count * s->width * sizeof(float));
    }
    double value = s->loss->evaluate(s->loss->terms, &part);
    if (s->outcome->value)
        *s->outcome->value += value;
}

/* All messages; what follows each other in the batch is evaluated at once. *more tells whether any
 * rank has samples left. */
static void evaluate_all(const split *s, bool backward, bool *more)
{
    size_t first = 0, count = 0;
    *more = false;
    for (int r = 0; r < gn_ranks_size(gn_ranks_of(s->ctx)); r++) {
        message_head head = unpack(s, r);
        *more = *more || head.more > 0;
        if (head.count == 0)
            continue;
        if (count == 0 || head.first != first + count) {
            evaluate(s, first, count, backward);
            first = head.first;
            count = 0;
        }
        count += head.count;
    }
    evaluate(s, first, count, backward);
}

static gerne_status backward_own(const split *s, size_t n, bool add)
{
    const gn_split_room *room = s->room;
    gn_network *network = s->network;
    size_t at = s->first + s->done, batch = (size_t)gn_network_batch(network);
    float *gradient = gn_logit_gradient(network);
    memcpy(gradient, room->logit_gradient + at * s->classes, n * s->classes * sizeof *gradient);
    memset(gradient + n * s->classes, 0, (batch - n) * s->classes * sizeof *gradient);
    if (s->loss->wants_features) {
        GN_TRY(gn_network_expect_feature_loss(s->ctx, network));
        float *features = gn_own_feature_gradient(network);
        if (features)
            memcpy(features, room->feature_gradient + at * s->width,
                   n * s->width * sizeof *features);
    }
    GN_TRY(gn_head_backward(s->ctx, network, add));
    return gn_body_backward(s->ctx, network, NULL, add);
}

/* ---- the pass ---- */

static gerne_status room_of(gerne_ctx *ctx, gn_network *network, gn_split_room **out)
{
    gn_split_room **room = gn_network_split_room(network);
    if (!*room)
        GN_TRY(gn_alloc(ctx, 1, sizeof **room, "a batch of all ranks", room));
    *out = *room;
    return GERNE_OK;
}

gerne_status gn_split_set_summing(gerne_ctx *ctx, gn_network *network, bool summing)
{
    gn_split_room *room;
    if (!gn_ranks_of(ctx))
        return GERNE_OK;
    GN_TRY(room_of(ctx, network, &room));
    room->summing = summing;
    return GERNE_OK;
}

static gerne_status open_split(gerne_ctx *ctx, gn_network *network, const gn_samples *samples,
                               const gn_loss *loss, const gn_outcome *outcome, split *s)
{
    gn_split_room *room;
    GN_TRY(room_of(ctx, network, &room));
    *s = (split){.ctx = ctx,
                 .network = network,
                 .room = room,
                 .all = samples,
                 .own = gn_split_own(ctx, samples),
                 .first = share_of(ctx, samples).first,
                 .classes = (size_t)gn_network_classes(network),
                 .width = (size_t)gn_network_feature_count(network),
                 .loss = loss,
                 .outcome = outcome,
                 .features = outcome->features || (loss && loss->wants_features)};
    GN_TRY(reserve_samples(s, s->features));
    return reserve_message(ctx, s->room, message_size(s));
}

/* Gradients that no sample of this rank replaces are not those of the step before. */
static void clear_gradients(gn_network *network)
{
    gn_block block = gn_network_trained(network);
    memset(block.gradients, 0, block.size * sizeof *block.gradients);
}

static void pass_on(void *ctx, const float *first)
{
    gn_ranks_sum_ready(ctx, first);
}

/* In the last round of all ranks nothing is added to the gradients that backward has left behind.
 * A rank may have no samples in it. */
static gerne_status backward_and_sum(const split *s, size_t n, bool add)
{
    gn_block block = gn_network_trained(s->network);
    gn_store *store = gn_network_store(s->network);
    GN_TRY(gn_ranks_sum_start(s->ctx, block.gradients, block.size));
    gn_store_watch(store, pass_on, s->ctx);
    gerne_status status = n ? backward_own(s, n, add) : GERNE_OK;
    gn_store_watch(store, NULL, NULL);
    if (status == GERNE_OK)
        gn_ranks_sum_ready(s->ctx, block.gradients);
    return status;
}

static gerne_status run_rounds(split *s, gn_split_work work)
{
    for (bool more = true; more;) {
        size_t rest = s->own.count - s->done;
        size_t n = rest ? gn_pass_next(s->network, &s->own, s->done, rest) : 0;
        if (work.forward && n)
            GN_TRY(gn_pass_part(s->ctx, s->network, &s->own, s->done, n, false));
        GN_TRY(exchange(s, n));
        evaluate_all(s, work.backward, &more);
        bool add = work.accumulate || s->done > 0;
        if (work.backward && !more && s->room->summing)
            GN_TRY(backward_and_sum(s, n, add));
        else if (work.backward && n)
            GN_TRY(backward_own(s, n, add));
        s->done += n;
    }
    return GERNE_OK;
}

gerne_status gn_split_pass(gerne_ctx *ctx, gn_network *network, const gn_samples *samples,
                           const gn_loss *loss, gn_split_work work, const gn_outcome *outcome)
{
    split s;
    gn_mixture mixture;
    GN_TRY(open_split(ctx, network, samples, loss, outcome, &s));
    if (samples->mixture) {
        mixture = own_mixture(samples->mixture, s.first);
        s.own.mixture = &mixture;
    }
    GN_TRY(check_read(&s));
    if (outcome->value)
        *outcome->value = 0;
    if (work.backward && !work.accumulate && s.own.count == 0)
        clear_gradients(network);
    return run_rounds(&s, work);
}

gerne_status gn_split_gather(gerne_ctx *ctx, gn_network *network, const float *own, size_t count,
                             size_t row, float *all)
{
    const gn_ranks *ranks = gn_ranks_of(ctx);
    gn_share share = gn_ranks_share(ranks, gn_ranks_rank(ranks), count, 1);
    gn_split_room *room;
    size_t size = gn_ranks_share(ranks, 0, count, 1).end * row * sizeof(float); /* the largest */
    GN_TRY(room_of(ctx, network, &room));
    GN_TRY(reserve_message(ctx, room, size));
    memcpy(room->own, own, (share.end - share.first) * row * sizeof(float));
    GN_TRY(gn_ranks_gather(ctx, room->own, size, room->all));
    for (int r = 0; r < gn_ranks_size(ranks); r++) {
        share = gn_ranks_share(ranks, r, count, 1);
        memcpy(all + share.first * row, room->all + (size_t)r * size,
               (share.end - share.first) * row * sizeof(float));
    }
    return GERNE_OK;
}
