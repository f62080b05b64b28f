// What every script that drives the page begins with. `look` does the rest, and fills `found`.

const page = window.cotangent;
const found = { errors: window.errors };

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));
/** Waits until a flight has ended. */
const landed = async () => {
  for (let i = 0; i < 100 && page.state().flying; i += 1) await pause(50);
  await pause(50);
};

const report = document.createElement("pre");
report.id = "report";
report.hidden = true;
document.body.append(report);
setTimeout(() =>
  look()
    .catch((error) => found.errors.push(String(error.stack)))
    .finally(() => {
      report.textContent = encodeURIComponent(JSON.stringify(found));
    }),
);
