// Runs before the page's own script: keeps errors, and lets frames follow the virtual time of a headless browser.

window.errors = [];
for (const kind of ["error", "unhandledrejection", "securitypolicyviolation"]) {
  window.addEventListener(kind, (event) =>
    window.errors.push(String(event.message ?? event.reason ?? event.violatedDirective)));
}
window.requestAnimationFrame = (draw) => setTimeout(() => draw(performance.now()), 16);
// So that the layer of points can be read.
const { getContext } = HTMLCanvasElement.prototype;
HTMLCanvasElement.prototype.getContext = function keep(kind, options) {
  return getContext.call(this, kind, { ...options, preserveDrawingBuffer: true });
};
