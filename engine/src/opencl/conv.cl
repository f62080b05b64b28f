// Convolution by columns of images, and pooling. image = (height, width, height and width of the result),
// window = (height, width, stride, padding).

// The elements under the window: [batch, patch, places]. A row of the patch is (channel, ky, kx).
__kernel void im2col(
    ulong count, ulong channels, ulong4 image, ulong4 window, __global const elem *x, __global elem *columns
) {
    const ulong i = get_global_id(0);
    if (i >= count) return;
    const ulong h = image.x, w = image.y, ph = image.z, pw = image.w;
    const ulong px = i % pw, py = i / pw % ph, row = i / (pw * ph) % (channels * window.x * window.y);
    const ulong batch = i / (pw * ph) / (channels * window.x * window.y);
    const ulong kx = row % window.y, ky = row / window.y % window.x, c = row / (window.x * window.y);
    const ulong y = py * window.z + ky, xx = px * window.z + kx, pad = window.w;
    const int inside = y >= pad && y - pad < h && xx >= pad && xx - pad < w;
    columns[i] = inside ? x[((batch * channels + c) * h + y - pad) * w + xx - pad] : 0;
}

// The gradient of an image: for each element, the sum of the columns' elements that it was copied to, in the
// order of the patch's rows.
__kernel void col2im(
    ulong count, ulong channels, ulong4 image, ulong4 window, __global const elem *columns, __global elem *dx
) {
    const ulong i = get_global_id(0);
    if (i >= count) return;
    const ulong h = image.x, w = image.y, ph = image.z, pw = image.w, stride = window.z;
    const ulong x = i % w + window.w, y = i / w % h + window.w, c = i / (w * h) % channels;
    const ulong patch = channels * window.x * window.y, batch = i / (w * h) / channels;
    elem sum = 0;
    for (ulong ky = 0; ky < window.x && ky <= y; ky++)
        for (ulong kx = 0; kx < window.y && kx <= x; kx++) {
            if ((y - ky) % stride || (x - kx) % stride) continue;
            const ulong py = (y - ky) / stride, px = (x - kx) / stride;
            if (py >= ph || px >= pw) continue;
            const ulong row = (c * window.x + ky) * window.y + kx;
            sum += columns[((batch * patch + row) * ph + py) * pw + px];
        }
    dx[i] = sum;
}

// The position of the largest element under the window at a place. NaN is larger than every number; of equal
// elements, the first.
static ulong largest(__global const elem *x, ulong w, ulong4 window, ulong py, ulong px) {
    const ulong corner = py * window.z * w + px * window.z;
    ulong best = corner;
    for (ulong k = 1; k < window.x * window.y; k++) {
        const ulong at_ = corner + k / window.y * w + k % window.y;
        if (x[at_] > x[best] || (isnan(x[at_]) && !isnan(x[best]))) best = at_;
    }
    return best;
}

__kernel void pool(
    ulong count, ulong max_, ulong4 image, ulong4 window, __global const elem *x, __global elem *out
) {
    const ulong i = get_global_id(0);
    if (i >= count) return;
    const ulong w = image.y, px = i % image.w, py = i / image.w % image.z;
    x += i / (image.z * image.w) * image.x * w;
    if (max_) {
        out[i] = x[largest(x, w, window, py, px)];
        return;
    }
    wide sum = 0;
    for (ulong k = 0; k < window.x * window.y; k++)
        sum += x[(py * window.z + k / window.y) * w + px * window.z + k % window.y];
    out[i] = (elem)(sum / (wide)(window.x * window.y));
}

// An element of the image gets gradients from all places whose window covers it, in the order of the places.
__kernel void pool_gradient(
    ulong count, ulong max_, ulong4 image, ulong4 window, __global const elem *x, __global const elem *g,
    __global elem *dx
) {
    const ulong i = get_global_id(0);
    if (i >= count) return;
    const ulong h = image.x, w = image.y, ph = image.z, pw = image.w, stride = window.z;
    const ulong xx = i % w, y = i / w % h, plane = i / (w * h);
    x += plane * w * h;
    g += plane * ph * pw;
    elem sum = 0;
    const ulong first_y = y < window.x ? 0 : (y - window.x) / stride + 1;
    const ulong first_x = xx < window.y ? 0 : (xx - window.y) / stride + 1;
    for (ulong py = first_y; py < ph && py * stride <= y; py++)
        for (ulong px = first_x; px < pw && px * stride <= xx; px++) {
            if (max_) {
                const ulong best = largest(x, w, window, py, px);
                // NaN under the window: every element gets the gradient NaN.
                if (isnan(x[best])) sum = x[best];
                else if (best == y * w + xx) sum += g[py * pw + px];
            } else
                sum += (elem)((wide)g[py * pw + px] / (wide)(window.x * window.y));
        }
    dx[i] = sum;
}
