// The panel beside the disk: search, the selected node, colours.

/** Largest number of suggestions. */
const SUGGESTIONS = 12;
/** Neighbours under the pointer; the card lists all. */
const TIP_NEIGHBOURS = 5;

function element(id) {
  return document.getElementById(id);
}

/** An element with text, which is never read as HTML: names may be anything. */
function make(tag, text, parts = []) {
  const made = document.createElement(tag);
  made.textContent = text;
  made.append(...parts);
  return made;
}

class Panel {
  constructor(embedding, page) {
    this.embedding = embedding;
    this.page = page;
    this.found = [];
    this.active = -1;
    element("caption").textContent = embedding.caption;
    document.title = `${embedding.count} nodes in the Poincaré disk`;
    this.listenToSearch();
    element("clear").addEventListener("click", () => page.clear());
    element("colouring").addEventListener("change", (event) => page.setColouring(event.target.value));
    element("theme").addEventListener("click", () => page.toggleTheme());
    if (embedding.legend.length === 0) {
      element("colouring").options[0].textContent = "one colour";
    }
  }

  listenToSearch() {
    const query = element("query");
    query.addEventListener("input", () => this.suggest(query.value));
    query.addEventListener("keydown", (event) => this.searchKey(event));
    query.addEventListener("focus", () => this.suggest(query.value));
    query.addEventListener("blur", () => this.close());
    // Before the input loses the focus, which closes the list.
    element("found").addEventListener("pointerdown", (event) => {
      event.preventDefault();
      const entry = event.target.closest("[data-node]");
      if (entry) this.choose(Number(entry.dataset.node));
    });
  }

  suggest(text) {
    this.found = this.embedding.search(text, SUGGESTIONS);
    this.active = this.found.length > 0 ? 0 : -1;
    const entries = this.found.map((node, i) => this.suggestion(node, i));
    if (entries.length === 0 && text.trim() !== "") {
      const none = make("li", "no such node");
      none.className = "none";
      entries.push(none);
    }
    element("found").replaceChildren(...entries);
    element("found").hidden = entries.length === 0;
    element("query").setAttribute("aria-expanded", String(entries.length > 0));
    this.mark();
  }

  suggestion(node, i) {
    const { labels, names } = this.embedding;
    const entry = make("li", labels[node], labels[node] === names[node] ? [] : [make("small", names[node])]);
    entry.setAttribute("role", "option");
    entry.id = `found-${i}`;
    entry.dataset.node = node;
    return entry;
  }

  /** Marks the active suggestion. */
  mark() {
    element("found").querySelectorAll("[data-node]").forEach((entry, i) => {
      entry.setAttribute("aria-selected", String(i === this.active));
      if (i === this.active) entry.scrollIntoView({ block: "nearest" });
    });
    if (this.active < 0) element("query").removeAttribute("aria-activedescendant");
    else element("query").setAttribute("aria-activedescendant", `found-${this.active}`);
  }

  searchKey(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step && this.found.length > 0) {
      this.active = (this.active + step + this.found.length) % this.found.length;
      this.mark();
    } else if (event.key === "Enter" && this.active >= 0) {
      this.choose(this.found[this.active]);
    } else if (event.key === "Escape") {
      event.target.value = "";
      this.page.clear();
      element("labels").focus();
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  }

  choose(node) {
    element("query").value = this.embedding.labels[node];
    this.page.select(node);
    element("labels").focus();
  }

  close() {
    this.found = [];
    this.active = -1;
    element("found").hidden = true;
    element("query").setAttribute("aria-expanded", "false");
    element("query").removeAttribute("aria-activedescendant");
  }

  /** Shows a node in the card; −1 hides it. */
  show(node) {
    element("card").hidden = node < 0;
    if (node < 0) {
      element("status").textContent = "nothing is selected";
      return;
    }
    const { labels, names } = this.embedding;
    const near = this.embedding.nearest(node);
    element("name").textContent = labels[node];
    element("full").textContent = names[node];
    element("full").hidden = labels[node] === names[node];
    element("depth").textContent = this.depth(node);
    const above = Array.from(this.embedding.parents(node), (other) => this.entry(other, ""));
    element("above-title").hidden = above.length === 0;
    element("above").replaceChildren(...above);
    element("near").replaceChildren(...near.map((n) => this.entry(n.node, n.distance.toFixed(3))));
    const nearest = near.slice(0, 3).map((n) => labels[n.node]).join(", ");
    element("status").textContent = `${labels[node]}: ${this.depth(node)}; nearest: ${nearest}`;
  }

  depth(node) {
    return `depth ${this.embedding.depths[node].toFixed(3)}`;
  }

  /** A button that selects a node, and shows where it is while it has the focus or the pointer. */
  entry(node, figure) {
    const button = make("button", "", [make("span", this.embedding.labels[node]), make("span", figure)]);
    button.type = "button";
    button.title = this.embedding.names[node];
    button.addEventListener("click", () => this.page.select(node));
    for (const name of ["focus", "pointerenter"]) {
      button.addEventListener(name, () => this.page.hover(node));
    }
    for (const name of ["blur", "pointerleave"]) button.addEventListener(name, () => this.page.hover(-1));
    return make("li", "", [button]);
  }

  /** Shows what is under the pointer beside it; −1 hides it. */
  tip(node, [left, top], camera) {
    const tip = element("tip");
    tip.hidden = node < 0;
    if (node < 0) return;
    const { labels } = this.embedding;
    const near = this.embedding.nearest(node).slice(0, TIP_NEIGHBOURS);
    tip.replaceChildren(
      make("b", labels[node]),
      make("span", this.depth(node)),
      make("small", near.map((n) => `${labels[n.node]} ${n.distance.toFixed(2)}`).join(" · ")),
    );
    const { offsetWidth: width, offsetHeight: height } = tip;
    tip.style.left = `${left + 16 + width > camera.width ? Math.max(0, left - 16 - width) : left + 16}px`;
    tip.style.top = `${top + 16 + height > camera.height ? Math.max(0, top - 16 - height) : top + 16}px`;
  }

  /** The legend in the colours of the picture. */
  legend({ colouring, shades }) {
    const { legend, depths } = this.embedding;
    const farthest = depths.reduce((a, b) => Math.max(a, b), 0);
    const names = colouring === "depth"
      ? shades.map((_, i) => [i, i + 1].map((k) => ((k * farthest) / shades.length).toFixed(1)).join(" to "))
      : legend;
    element("legend").replaceChildren(...names.map((name, i) => {
      const dot = make("i", "");
      dot.style.background = `rgb(${shades[i].join()})`;
      return make("li", "", [dot, make("span", name)]);
    }));
  }

  /** The button says what it switches to. */
  themeButton(dark) {
    element("theme").textContent = dark ? "Light" : "Dark";
    element("theme").setAttribute("aria-label", `Switch to ${dark ? "light" : "dark"} colours`);
  }
}
