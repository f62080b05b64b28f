// Attention over tiles of scores, as in kernels/attend.rs. The softmax keeps the largest score so far of each
// row, and the sum of exponentials relative to it.

#define ROW \
    LEAVE(FIRST >= rows); \
    const int here = FIRST + PLACE < rows; \
    const ulong r = here ? FIRST + PLACE : rows - 1

static elem larger(elem a, elem b) {
    return b > a || isnan(b) ? b : a;
}

// Replaces the scores of a tile by weights relative to the new largest score, and rescales what was summed
// before to it.
__kernel TOGETHER void weigh_tile(
    ulong rows, ulong columns, ulong width, __global elem *s, __global elem *largest, __global wide *sums,
    __global elem *out
) {
    SHARED wide team[ROWS * LANES];
    ROW;
    s += r * columns;
    const elem before = largest[r];
    elem max_ = before;
    for (ulong c = ITEM; here && c < columns; c += ITEMS) max_ = larger(max_, s[c]);
    team[PLACE * LANES + ITEM] = max_;
    MEET;
    for (int i = 0; i < ITEMS; i++) max_ = larger(max_, team[PLACE * LANES + i]);
    wide own[OWN] = {0}, seconds[OWN] = {0};
    for (ulong c0 = 0; here && c0 < columns; c0 += LANES) {
        // Two sets of lanes side by side, in turn; an incomplete block at the end goes into the first.
        const int second = c0 / LANES % 2 == 1 && c0 + LANES <= columns;
        for (int l = 0; l < OWN; l++) {
            const ulong c = c0 + LANE(l);
            if (c >= columns) break;
            // The largest score is -infinity as long as all keys are hidden.
            s[c] = max_ == -INFINITY ? 0 : exp(s[c] - max_);
            if (second) seconds[l] += s[c];
            else own[l] += s[c];
        }
    }
    for (int l = 0; l < OWN; l++) own[l] += seconds[l];
    const wide sum = sum_of(own, team);
    if (!here) return;
    const elem factor = max_ == before ? 1 : exp(before - max_);
    for (ulong c = ITEM; max_ != before && c < width; c += ITEMS) out[r * width + c] *= factor;
    if (ITEM == 0) {
        largest[r] = max_;
        sums[r] = sum + sums[r] * factor;
    }
}

__kernel TOGETHER void start(
    ulong rows, ulong width, __global elem *largest, __global wide *sums, __global elem *out
) {
    ROW;
    for (ulong c = ITEM; here && c < width; c += ITEMS) out[r * width + c] = 0;
    if (ITEM > 0 || !here) return;
    largest[r] = -INFINITY;
    sums[r] = 0;
}

// Divides the weighted sums by the sums of the weights, and writes the logarithms of the softmax's
// denominators: infinity for a row that attends to nothing.
__kernel TOGETHER void finish(
    ulong rows, ulong width, __global const elem *largest, __global const wide *sums, __global elem *out,
    __global elem *logs
) {
    ROW;
    const elem factor = (elem)(1 / sums[r]);
    for (ulong c = ITEM; here && sums[r] != 0 && c < width; c += ITEMS) out[r * width + c] *= factor;
    if (ITEM == 0 && here) logs[r] = sums[r] == 0 ? INFINITY : (elem)(largest[r] + wide_log(sums[r]));
}

// Lowers the scores of hidden keys to -infinity, in a tile of keys from j0 on, of m.
__kernel void hide(
    ulong count, ulong columns, ulong m, ulong j0, ulong4 read, __global const elem *hidden, __global elem *s
) {
    const ulong p = get_global_id(0);
    if (p < count && hidden[at(read, p / columns * m + j0 + p % columns)] != 0) s[p] = -INFINITY;
}

// Replaces scores s by their softmax P, and the gradient u of P by that of the scores: P (u - <g, out>).
__kernel void softmax_gradient(
    ulong count, ulong columns, __global const elem *logs, __global const elem *dots, __global elem *s,
    __global elem *u
) {
    const ulong p = get_global_id(0);
    if (p >= count) return;
    const elem weight = exp(s[p] - logs[p / columns]);
    s[p] = weight;
    u[p] = weight * (u[p] - dots[p / columns]);
}

// The logistic function, and its logarithm: `sigmoid` and `log_sigmoid` are printed from their formulas.
static elem sigmoid_of(elem x) {
    elem y;
    sigmoid(&x, &y);
    return y;
}

static elem log_sigmoid_of(elem x) {
    elem y;
    log_sigmoid(&x, &y);
    return y;
}

// Replaces the scores of a tile by weights.
__kernel void logistic(ulong count, __global elem *s) {
    const ulong p = get_global_id(0);
    if (p < count) s[p] = sigmoid_of(s[p]);
}

// Replaces the scores of a tile by the logarithms of the logistic function.
__kernel void log_logistic(ulong count, __global elem *s) {
    const ulong p = get_global_id(0);
    if (p < count) s[p] = log_sigmoid_of(s[p]);
}

// Replaces scores s by the weights P, and the gradient u of P by that of the scores: P (1 - P) u.
__kernel void logistic_gradient(ulong count, __global elem *s, __global elem *u) {
    const ulong p = get_global_id(0);
    if (p >= count) return;
    const elem weight = sigmoid_of(s[p]);
    u[p] *= weight * sigmoid_of(-s[p]);
    s[p] = weight;
}

// Replaces scores s by the softmax P of ln σ(s), and the gradient u of P by that of the scores:
// P (u - <g, out>) (1 - σ).
__kernel void normalised_logistic_gradient(
    ulong count, ulong columns, __global const elem *logs, __global const elem *dots, __global elem *s,
    __global elem *u
) {
    const ulong p = get_global_id(0);
    if (p >= count) return;
    const elem ln = log_sigmoid_of(s[p]), weight = exp(ln - logs[p / columns]);
    s[p] = weight;
    u[p] = weight * ((u[p] - dots[p / columns]) * -expm1(ln));
}
