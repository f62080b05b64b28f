// Layer normalisation. A row is one work-item's; sums in double, the variance from differences.

static double mean_of(__global const elem *x, ulong width) {
    double sum = 0;
    for (ulong c = 0; c < width; c++) sum += x[c];
    return sum / width;
}

static double inverse_deviation(__global const elem *x, ulong width, double mean, double epsilon) {
    double square = 0;
    for (ulong c = 0; c < width; c++) square += (x[c] - mean) * (x[c] - mean);
    return 1 / sqrt(square / width + epsilon);
}

__kernel void forward(
    ulong rows, ulong width, double epsilon, __global const elem *x, __global const elem *gain,
    __global const elem *bias, __global elem *out
) {
    const ulong r = get_global_id(0);
    if (r >= rows) return;
    x += r * width;
    const double mean = mean_of(x, width), scale = inverse_deviation(x, width, mean, epsilon);
    for (ulong c = 0; c < width; c++)
        out[r * width + c] = (elem)((x[c] - mean) * scale * gain[c] + bias[c]);
}

// With u = scale (x - mean) and h = g gain: dx = scale (h - mean(h) - u mean(u h)); the gain receives g u.
__kernel void backward(
    ulong rows, ulong width, double epsilon, __global const elem *x, __global const elem *gain,
    __global const elem *g, __global elem *dx, __global elem *of_gain
) {
    const ulong r = get_global_id(0);
    if (r >= rows) return;
    x += r * width;
    g += r * width;
    const double mean = mean_of(x, width), scale = inverse_deviation(x, width, mean, epsilon);
    double sum = 0, dot = 0;
    for (ulong c = 0; c < width; c++) {
        const double h = (double)g[c] * gain[c];
        sum += h;
        dot += h * (x[c] - mean);
    }
    sum /= width;
    dot = scale * dot / width;
    for (ulong c = 0; c < width; c++) {
        const double u = (x[c] - mean) * scale, h = (double)g[c] * gain[c];
        if (dx) dx[r * width + c] = (elem)(scale * (h - sum - u * dot));
        if (of_gain) of_gain[r * width + c] = (elem)(g[c] * u);
    }
}
