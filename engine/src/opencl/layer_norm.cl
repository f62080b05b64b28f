// Layer normalisation. Sums are `wide`; the variance is the mean square of x - mean.

#define ROW \
    SHARED wide team[ROWS * LANES]; \
    LEAVE(FIRST >= rows); \
    const int here = FIRST + PLACE < rows; \
    const ulong r = here ? FIRST + PLACE : rows - 1; \
    x += r * width

static wide inverse_deviation(wide squares, ulong width, wide epsilon) {
    const wide variance = squares / width + epsilon;
    return variance == INFINITY ? NAN : 1 / sqrt(variance);
}

__kernel TOGETHER void forward(
    ulong rows, ulong width, wide epsilon, __global const elem *x, __global const elem *gain,
    __global const elem *bias, __global elem *out
) {
    ROW;
    wide mean, squares;
    LINE_SUM(mean, width, here, team, x[p])
    mean /= width;
    LINE_SUM(squares, width, here, team, (x[p] - mean) * (x[p] - mean))
    const wide scale = inverse_deviation(squares, width, epsilon);
    for (ulong c = ITEM; here && c < width; c += ITEMS)
        out[r * width + c] = (elem)((x[c] - mean) * scale * gain[c] + bias[c]);
}

// With u = scale (x - mean) and h = g gain: dx = scale (h - mean(h) - u mean(u h)). The gradient of the gain
// is the sum of g u over the rows; its terms are written to of_gain.
__kernel TOGETHER void backward(
    ulong rows, ulong width, wide epsilon, __global const elem *x, __global const elem *gain,
    __global const elem *g, __global elem *dx, __global elem *of_gain
) {
    ROW;
    g += r * width;
    wide mean;
    LINE_SUM(mean, width, here, team, x[p])
    mean /= width;
    wide squares[OWN] = {0}, sums[OWN] = {0}, dots[OWN] = {0};
    for (ulong c0 = 0; c0 < width; c0 += LANES)
        for (int l = 0; l < OWN; l++) {
            const ulong c = c0 + LANE(l);
            if (c >= width) break;
            const wide d = x[c] - mean, h = (wide)g[c] * gain[c];
            squares[l] += d * d;
            sums[l] += h;
            dots[l] += h * d;
        }
    const wide scale = inverse_deviation(sum_of(squares, team), width, epsilon);
    const wide sum = sum_of(sums, team) / width, dot = scale * sum_of(dots, team) / width;
    for (ulong c = ITEM; here && c < width; c += ITEMS) {
        const wide u = (x[c] - mean) * scale, h = (wide)g[c] * gain[c];
        if (dx) dx[r * width + c] = (elem)(scale * (h - sum - u * dot));
        if (of_gain) of_gain[r * width + c] = (elem)(g[c] * u);
    }
}
