// A softmax whose scores come tile by tile, as kernels/attend.rs has it. A row is one work-item's.

// Scores of a tile become weights; what was summed before is brought to the same scale.
__kernel void take(
    ulong rows, ulong columns, ulong width, __global elem *s, __global elem *largest, __global double *sums,
    __global elem *out
) {
    const ulong r = get_global_id(0);
    if (r >= rows) return;
    s += r * columns;
    const elem before = largest[r];
    elem max_ = before;
    for (ulong j = 0; j < columns; j++) max_ = s[j] > max_ || isnan(s[j]) ? s[j] : max_;
    if (max_ == -INFINITY) {
        // Nothing is attended to so far.
        for (ulong j = 0; j < columns; j++) s[j] = 0;
        return;
    }
    double sum = 0;
    for (ulong j = 0; j < columns; j++) {
        s[j] = exp(s[j] - max_);
        sum += s[j];
    }
    if (max_ != before) {
        const elem factor = exp(before - max_);
        sum += sums[r] * factor;
        for (ulong c = 0; c < width; c++) out[r * width + c] *= factor;
        largest[r] = max_;
    } else
        sum += sums[r];
    sums[r] = sum;
}

__kernel void start(ulong rows, ulong width, __global elem *largest, __global double *sums, __global elem *out) {
    const ulong r = get_global_id(0);
    if (r >= rows) return;
    largest[r] = -INFINITY;
    sums[r] = 0;
    for (ulong c = 0; c < width; c++) out[r * width + c] = 0;
}

// Weighted sums become weighted means; finds the logarithms of the denominators.
__kernel void finish(
    ulong rows, ulong width, __global const elem *largest, __global const double *sums, __global elem *out,
    __global elem *logs
) {
    const ulong r = get_global_id(0);
    if (r >= rows) return;
    if (sums[r] == 0) {
        logs[r] = INFINITY;
        return;
    }
    logs[r] = (elem)(largest[r] + wide_log(sums[r]));
    const elem factor = (elem)(1 / sums[r]);
    for (ulong c = 0; c < width; c++) out[r * width + c] *= factor;
}

// Scores s become the softmax P, its gradient u that of the scores: P (u - <g, out>).
__kernel void again(
    ulong count, ulong columns, __global const elem *logs, __global const elem *dots, __global elem *s,
    __global elem *u
) {
    const ulong p = get_global_id(0);
    if (p >= count) return;
    const elem weight = exp(s[p] - logs[p / columns]);
    s[p] = weight;
    u[p] = weight * (u[p] - dots[p / columns]);
}

// The logistic function, as kernels/attend.rs has it.
elem sigmoid_of(elem x) {
    return 1 / (1 + exp(-x));
}

// Scores of a tile become weights.
__kernel void logistic(ulong count, __global elem *s) {
    const ulong p = get_global_id(0);
    if (p < count) s[p] = sigmoid_of(s[p]);
}

// Scores s become the weights P, its gradient u that of the scores: P (1 - P) u.
__kernel void logistic_again(ulong count, __global elem *s, __global elem *u) {
    const ulong p = get_global_id(0);
    if (p >= count) return;
    const elem weight = sigmoid_of(s[p]);
    u[p] *= weight * sigmoid_of(-s[p]);
    s[p] = weight;
}
