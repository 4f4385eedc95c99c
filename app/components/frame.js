// What the components share; it stands before the script of each of them. All text is set with textContent.

const MIN_HEIGHT = 200; // pixels of a frame that ends where the window does
const MARGIN_BELOW = 14;
const SETTLING = 3000; // milliseconds in which what stands above a frame may still move it

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

/** Make the frame of a component, with the colours of the design as its variables. */
function makeFrame(data) {
  const frame = make("div", ["frame", ...data.classes].join(" "));
  Object.entries(data.colours).forEach(([name, colour]) => frame.style.setProperty(`--${name}`, colour));
  return frame;
}

/** Let the frame end where the window does, whatever stands above it; returns how to stop that. */
function fitWindow(frame) {
  const page = frame.getRootNode().host?.closest("[data-testid=stMain]");
  const fit = () => {
    const top = frame.getBoundingClientRect().top + (page?.scrollTop ?? 0);
    frame.style.height = `${Math.max(MIN_HEIGHT, window.innerHeight - top - MARGIN_BELOW)}px`;
  };
  const observer = new ResizeObserver(fit); // the content of the page, which grows while it is drawn
  observer.observe(page?.querySelector("[data-testid=stMainBlockContainer]") ?? document.body);
  window.addEventListener("resize", fit);
  fit();
  // What moves the frame without a change of any size, such as a row above it that shrinks while another one grows.
  const until = performance.now() + SETTLING;
  let [waiting, before] = [0, NaN];
  const settle = () => {
    const top = frame.getBoundingClientRect().top;
    if (top !== before) fit();
    before = top;
    if (performance.now() < until) waiting = requestAnimationFrame(settle);
  };
  settle();
  return () => {
    cancelAnimationFrame(waiting);
    observer.disconnect();
    window.removeEventListener("resize", fit);
  };
}

