// Layer normalisation. Sums of `wide`, the variance from differences.

#define ROW \
    SHARED wide team[ROWS * LANES]; \
    LEAVE(FIRST >= rows); \
    const int here = FIRST + PLACE < rows; \
    const ulong r = here ? FIRST + PLACE : rows - 1; \
    x += r * width

// The sum of x - about, or of its squares: in pairs of lanes side by side.
INLINE wide sum_about(
    wide about, int squared, __global const elem *x, ulong width, SHARED wide *team
) {
    wide own[OWN] = {0}, seconds[OWN] = {0};
    for (ulong c0 = 0; c0 < width; c0 += 2 * LANES)
        for (int l = 0; l < OWN; l++) {
            const ulong c = c0 + LANE(l), next = c + LANES;
            const wide d = c < width ? x[c] - about : 0, e = next < width ? x[next] - about : 0;
            own[l] += squared ? d * d : d;
            seconds[l] += squared ? e * e : e;
        }
    for (int l = 0; l < OWN; l++) own[l] += seconds[l];
    return sum_of(own, team);
}

static wide inverse_deviation(wide squares, ulong width, wide epsilon) {
    return 1 / sqrt(squares / width + epsilon);
}

__kernel TOGETHER void forward(
    ulong rows, ulong width, wide epsilon, __global const elem *x, __global const elem *gain,
    __global const elem *bias, __global elem *out
) {
    ROW;
    const wide mean = sum_about(0, 0, x, width, team) / width;
    const wide scale = inverse_deviation(sum_about(mean, 1, x, width, team), width, epsilon);
    for (ulong c = ITEM; here && c < width; c += ITEMS)
        out[r * width + c] = (elem)((x[c] - mean) * scale * gain[c] + bias[c]);
}

// With u = scale (x - mean) and h = g gain: dx = scale (h - mean(h) - u mean(u h)); the gain receives g u.
__kernel TOGETHER void backward(
    ulong rows, ulong width, wide epsilon, __global const elem *x, __global const elem *gain,
    __global const elem *g, __global elem *dx, __global elem *of_gain
) {
    ROW;
    g += r * width;
    const wide mean = sum_about(0, 0, x, width, team) / width;
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
