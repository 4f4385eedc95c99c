"""Can the text of a page be read? Size and contrast of every text that is shown, in components and charts too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page

MIN_PIXELS = 13.0
MIN_CONTRAST = 4.5
# Colours are read from a canvas, whatever way they are written in. Disabled controls and what is only spoken are left
# out, as are texts in canvases; text on a map or a picture has a halo of its own.
READ_TEXTS = """() => {
    const pen = new OffscreenCanvas(1, 1).getContext('2d', {willReadFrequently: true});
    const known = new Map();
    const read = text => {
        if (!known.has(text)) {
            pen.clearRect(0, 0, 1, 1); pen.fillStyle = text; pen.fillRect(0, 0, 1, 1);
            const [r, g, b, a] = pen.getImageData(0, 0, 1, 1).data;
            known.set(text, [r, g, b, a / 255]);
        }
        return known.get(text);
    };
    const up = e => e.assignedSlot || e.parentElement || e.getRootNode().host;
    const over = (top, below) => [0, 1, 2].map(at => top[at] * top[3] + below[at] * (1 - top[3])).concat(1);
    const linear = value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    const light = colour => {
        const [r, g, b] = colour.slice(0, 3).map(value => linear(value / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
    };
    const isHidden = style => style.visibility !== 'visible' || style.clipPath.startsWith('inset');
    const leftOut = 'canvas, style, script, option, .xc-map-regions, [data-testid=stSliderThumbValue]';
    const found = [];
    const look = root => {
        for (const e of root.querySelectorAll('*')) {
            if (e.shadowRoot) look(e.shadowRoot);
            const own = [...e.childNodes].filter(node => node.nodeType === 3).map(node => node.textContent.trim());
            const text = own.join(' ').trim();
            const box = e.getBoundingClientRect();
            const style = getComputedStyle(e);
            if (!text || box.width < 2 || box.height < 2 || box.right < 0 || e.closest(leftOut)) continue;
            if (isHidden(style) || style.fontSize === '0px') continue;
            const grounds = [];
            let [opacity, skip] = [1, false];
            for (let at = e; at; at = up(at)) {
                const around = getComputedStyle(at);
                opacity *= Number(around.opacity);
                skip ||= at.matches('[disabled], [aria-disabled=true], [aria-hidden=true]');
                skip ||= around.clipPath.startsWith('inset');
                const ground = read(around.backgroundColor);
                if (grounds.at(-1)?.[3] !== 1 && ground[3] > 0) grounds.push(ground);
            }
            if (skip || opacity < 0.05) continue;
            const ground = grounds.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
            const colour = read(e instanceof SVGElement ? style.fill : style.color);
            const ink = over([...colour.slice(0, 3), colour[3] * opacity], ground);
            const [a, b] = [light(ink), light(ground)].sort((x, y) => y - x);
            found.push([text.slice(0, 60), parseFloat(style.fontSize), (a + 0.05) / (b + 0.05)]);
        }
    };
    look(document.body);
    return found;
}"""


@dataclass(frozen=True)
class ShownText:
    """A text as it is drawn."""

    text: str
    pixels: float
    contrast: float


def read_texts(page: Page) -> list[ShownText]:
    """Return all texts that are shown now, outside of canvases."""
    return [ShownText(*each) for each in page.evaluate(READ_TEXTS)]


def list_small(texts: list[ShownText], pixels: float = MIN_PIXELS) -> list[ShownText]:
    """Return the texts whose type is smaller than this."""
    return [each for each in texts if each.pixels < pixels - 0.05]


def list_faint(texts: list[ShownText], contrast: float = MIN_CONTRAST) -> list[ShownText]:
    """Return the texts that do not stand out enough from their ground."""
    return [each for each in texts if each.contrast < contrast - 0.005]
