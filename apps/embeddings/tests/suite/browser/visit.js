// Selects each of `nodes` in turn, and tells how far from the centre the flight ended and what the card says.

async function look() {
  found.visits = [];
  for (const name of nodes) {
    const known = page.select(name);
    await landed();
    found.visits.push({
      known,
      missed: Math.hypot(...page.where(name).disk),
      title: document.getElementById("full").textContent,
      depth: document.getElementById("depth").textContent,
      names: Array.from(document.querySelectorAll("#near button"), (button) => button.title),
      distances: Array.from(document.querySelectorAll("#near span + span"), (span) => Number(span.textContent)),
    });
  }
}
