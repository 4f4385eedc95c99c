// The text of `marked_text.py`. All text is set with textContent; nothing from outside becomes HTML.

const SPOKEN = { strong: "strong evidence", medium: "evidence", weak: "weak evidence", against: "against" };

function makeMark(part, chosen) {
  const mark = make("mark", part.strength, part.text);
  mark.setAttribute("role", "button");
  mark.setAttribute("aria-pressed", String(part.word === chosen));
  mark.setAttribute("aria-description", SPOKEN[part.strength]);
  mark.dataset.word = part.word;
  mark.title = part.title || SPOKEN[part.strength];
  mark.tabIndex = -1;
  return mark;
}

function makeLegend(strengths) {
  const legend = make("div", "legend");
  legend.setAttribute("aria-hidden", "true");
  const shown = strengths.filter((each) => each !== "against");
  shown.forEach((each) => legend.append(make("mark", each, each)));
  if (shown.length) legend.append(make("span", "", "evidence"));
  if (strengths.includes("against")) legend.append(make("mark", "against", "against"));
  return legend;
}

export default function ({ data, parentElement, setTriggerValue }) {
  const before = parentElement.querySelector(".frame");
  const focused = before?.getRootNode().activeElement;
  const hadFocus = Boolean(focused && before.contains(focused));
  const scrolled = before?.querySelector(".text")?.scrollTop ?? 0;

  const frame = makeFrame(data);
  const text = make("div", "text");
  text.setAttribute("role", "group");
  text.setAttribute("aria-label", data.label);
  const marks = [];
  data.parts.forEach((part) => {
    if (!part.strength) {
      text.append(document.createTextNode(part.text));
      return;
    }
    marks.push(makeMark(part, data.chosen));
    text.append(marks.at(-1));
  });
  frame.append(text);
  if (data.legend.length) frame.append(makeLegend(data.legend));

  let current = Math.max(0, hadFocus ? Number(focused.dataset.at ?? 0) : marks.findIndex((mark) => mark.dataset.word === data.chosen));
  current = Math.min(current, marks.length - 1);

  function moveTo(at) {
    marks[current].tabIndex = -1;
    current = at;
    marks[current].tabIndex = 0;
    marks[current].focus();
  }

  function choose(mark) {
    marks.forEach((each) => each.setAttribute("aria-pressed", String(each.dataset.word === mark.dataset.word)));
    setTriggerValue("chosen", mark.dataset.word);
  }

  marks.forEach((mark, at) => {
    mark.dataset.at = String(at);
    mark.onclick = () => {
      moveTo(at);
      choose(mark);
    };
    mark.onkeydown = (event) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      const target = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: marks.length - 1 }[event.key];
      if (target !== undefined) moveTo(Math.min(Math.max(target, 0), marks.length - 1));
      else if (event.key === "Enter" || event.key === " ") choose(mark);
      else return;
      event.preventDefault();
      event.stopPropagation();
    };
  });
  if (marks.length) marks[current].tabIndex = 0;
  else if (data.classes.includes("fills")) text.tabIndex = 0; // so that the keyboard can scroll it

  if (before) before.replaceWith(frame);
  else parentElement.append(frame);
  text.scrollTop = scrolled;
  if (hadFocus && marks.length) marks[current].focus({ preventScroll: true });
  return data.fitsWindow ? fitWindow(frame) : () => {};
}
