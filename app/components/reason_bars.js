// The bars of `reason_bars.py`. All text is set with textContent; nothing from outside becomes HTML.

function makeBar(bar, kind) {
  const track = make("span", "track");
  const drawn = make("i", `${bar.is_against ? "against" : kind}${bar.is_rest ? " rest" : ""}`);
  drawn.style.left = `${100 * bar.start}%`;
  drawn.style.width = `max(2px, ${100 * bar.length}%)`;
  track.append(drawn);
  return track;
}

/** Make the row of a bar: a button where it can be chosen. */
function makeRow(bar, className, kind) {
  const row = make(bar.id ? "button" : "div", className);
  if (bar.id) {
    row.type = "button";
    row.dataset.id = bar.id;
    row.tabIndex = -1;
  }
  if (bar.hint) row.title = bar.hint;
  const name = make("span", "name", bar.name);
  name.title = bar.name;
  row.append(name, makeBar(bar, kind), make("span", "value", bar.value));
  return row;
}

function makeFamilies(data) {
  const box = make("div", "families");
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", "Families of reasons");
  box.style.setProperty("--zero", `${100 * data.zero}%`);
  data.families.forEach((bar) => {
    const row = makeRow(bar, "family", "for");
    row.setAttribute("aria-pressed", String(bar.is_open));
    box.append(row);
  });
  if (data.score) {
    const total = makeRow(data.score, "family total", "total");
    box.append(total);
  }
  return box;
}

function makeWords(data) {
  const box = make("div", "words");
  box.setAttribute("role", "group");
  box.setAttribute("aria-label", data.family);
  const heading = make("div", "heading");
  heading.append(make("b", "", data.family), make("span", "", ` ${data.family_note}`));
  box.append(heading);
  data.words.forEach((bar) => {
    const row = makeRow(bar, `word${bar.is_rest ? " rest" : ""}`, "for");
    row.prepend(make("span", "arrow", bar.id ? (bar.is_open ? "▾" : "▸") : ""));
    row.firstChild.setAttribute("aria-hidden", "true");
    if (bar.id) row.setAttribute("aria-expanded", String(bar.is_open));
    box.append(row);
    bar.lines.forEach(([name, value]) => {
      const line = make("div", "pair");
      line.append(make("span", "", name), make("span", "value", value));
      box.append(line);
    });
  });
  return box;
}

function makeSteps(data, isOpen) {
  const steps = make("details", "steps");
  steps.open = isOpen;
  steps.append(make("summary", "", data.steps_title));
  data.steps.forEach(([name, value]) => {
    const line = make("div", "pair");
    line.append(make("span", "", name), make("span", "value", value));
    steps.append(line);
  });
  return steps;
}

export default function ({ data, parentElement, setTriggerValue }) {
  const before = parentElement.querySelector(".frame");
  const focused = before?.getRootNode().activeElement;
  const focusedId = focused && before.contains(focused) ? focused.dataset.id : undefined;
  const wasFamily = focused?.classList.contains("family");
  const scrolled = before?.querySelector(".content")?.scrollTop ?? 0;
  const isSame = before?.dataset.title === data.title;

  const frame = makeFrame(data);
  frame.dataset.title = data.title;
  const content = make("div", "content");
  const title = make("div", "title", data.title);
  title.setAttribute("role", "heading");
  title.setAttribute("aria-level", "2");
  if (data.title) content.append(title);
  if (data.facts) content.append(make("div", "facts", data.facts));
  if (data.sentence.length) {
    const sentence = make("div", "sentence");
    data.sentence.forEach(([text, isWord]) => sentence.append(isWord ? make("em", "", text) : document.createTextNode(text)));
    content.append(sentence);
  }
  if (data.families.length) content.append(makeFamilies(data));
  if (data.words.length) content.append(makeWords(data));
  if (data.steps.length) content.append(makeSteps(data, before?.querySelector("details")?.open ?? false));
  frame.append(content);
  if (data.footer) frame.append(make("div", "footer", data.footer));

  const rows = [...content.querySelectorAll("button")];
  let current = Math.max(0, rows.findIndex((row) => row.dataset.id === focusedId && row.classList.contains("family") === wasFamily));
  rows.forEach((row, at) => {
    row.onclick = () => setTriggerValue(row.classList.contains("family") ? "family" : "word", row.dataset.id);
    row.onkeydown = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const target = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: rows.length - 1 }[event.key];
      if (target === undefined) return;
      rows[current].tabIndex = -1;
      current = Math.min(Math.max(target, 0), rows.length - 1);
      rows[current].tabIndex = 0;
      rows[current].focus();
      event.preventDefault();
      event.stopPropagation();
    };
  });
  if (rows.length) rows[current].tabIndex = 0;

  if (before) before.replaceWith(frame);
  else parentElement.append(frame);
  content.scrollTop = isSame ? scrolled : 0;
  if (focusedId !== undefined && rows.length) rows[current].focus({ preventScroll: true });
  else if (isSame) rows.find((row) => row.getAttribute("aria-expanded") === "true")?.scrollIntoView({ block: "nearest" });
  const stopFitting = data.fitsWindow ? fitWindow(frame) : () => {};
  const observer = new ResizeObserver(() => fitRows(frame, content)); // of the frame, which takes its height from the window
  observer.observe(frame);
  return () => {
    observer.disconnect();
    stopFitting();
  };
}

/** Set the rows closer together where that is enough for all of them to be seen without scrolling. */
function fitRows(frame, content) {
  frame.classList.remove("close");
  if (content.scrollHeight <= content.clientHeight) return;
  frame.classList.add("close");
  if (content.scrollHeight > content.clientHeight) frame.classList.remove("close");
}
