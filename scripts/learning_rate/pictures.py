"""The experiment's pictures: lines over logarithmic or plain axes, as SVG that reads on light and on dark pages."""

import math
import statistics

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 720, 400, 70, 190, 40, 55
COLOURS = ("#1f77b4", "#e07b00", "#2a9d4a", "#b5495b", "#7b5fc0", "#6b6b6b")
INK = "#808080"  # between black and white: seen on both


class Axis:
    def __init__(self, low, high, begin, end, logarithmic):
        self.scale = math.log2 if logarithmic else float
        self.low, self.high = self.scale(low), self.scale(high)
        self.begin, self.end = begin, end

    def at(self, value):
        share = (self.scale(value) - self.low) / (self.high - self.low)
        return self.begin + min(max(share, 0.0), 1.0) * (self.end - self.begin)


def text(x, y, words, anchor="middle", colour=INK, more=""):
    escaped = words.replace("&", "&amp;").replace("<", "&lt;")
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{colour}" {more}>{escaped}</text>'


def draw(path, title, x_title, y_title, x, y, x_ticks, y_ticks, lines, bands=()):
    """lines: (name, [(x, y), …], dashed). bands: (x from, x to, colour, words) behind them."""
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
             'font-family="sans-serif" font-size="12">', text((LEFT + WIDTH - RIGHT) / 2, 22, title, more='font-size="14"')]
    for begin, end, colour, words in bands:
        a, b = x.at(begin), x.at(end)
        parts.append(f'<rect x="{a:.1f}" y="{TOP}" width="{b - a:.1f}" height="{HEIGHT - TOP - BOTTOM}" fill="{colour}" '
                     'fill-opacity="0.15"/>')
        parts.append(text((a + b) / 2, TOP + 14, words))
    for value, words in x_ticks:
        parts.append(f'<line x1="{x.at(value):.1f}" x2="{x.at(value):.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" '
                     f'stroke="{INK}" stroke-opacity="0.25"/>')
        parts.append(text(x.at(value), HEIGHT - BOTTOM + 18, words))
    for value, words in y_ticks:
        parts.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y.at(value):.1f}" y2="{y.at(value):.1f}" '
                     f'stroke="{INK}" stroke-opacity="0.25"/>')
        parts.append(text(LEFT - 8, y.at(value) + 4, words, "end"))
    parts.append(text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 12, x_title))
    parts.append(text(16, (TOP + HEIGHT - BOTTOM) / 2, y_title,
                      more=f'transform="rotate(-90 16 {(TOP + HEIGHT - BOTTOM) / 2})"'))
    for number, (name, points, dashed) in enumerate(lines):
        colour = COLOURS[number % len(COLOURS)]
        way = " ".join(f"{x.at(a):.1f},{y.at(b):.1f}" for a, b in points)
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        parts.append(f'<polyline points="{way}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        if len(points) <= 16:
            parts += [f'<circle cx="{x.at(a):.1f}" cy="{y.at(b):.1f}" r="3" fill="{colour}"/>' for a, b in points]
        row = TOP + 14 + 20 * number
        parts.append(f'<line x1="{WIDTH - RIGHT + 14}" x2="{WIDTH - RIGHT + 38}" y1="{row - 4}" y2="{row - 4}" '
                     f'stroke="{colour}" stroke-width="2"{dash}/>')
        parts.append(text(WIDTH - RIGHT + 44, row, name, "start"))
    path.write_text("\n".join(parts) + "\n</svg>\n")


def light_bands(lights, base_batch, most):
    """Stretches of global batches that one light covers, from halfway to the batch before to halfway to the next."""
    colours = {"green": "#2a9d4a", "amber": "#e0a000", "red": "#c03030"}
    majority = {}
    for kappa, seen in sorted(lights.items()):
        words = [light for light, _ in seen]
        majority[kappa * base_batch] = max(set(words), key=words.count)
    bands = []
    for batch, light in majority.items():
        begin, end = max(batch / math.sqrt(2), base_batch / math.sqrt(2)), min(batch * math.sqrt(2), most * math.sqrt(2))
        if bands and bands[-1][3] == light:
            bands[-1] = (bands[-1][0], end, *bands[-1][2:])
        elif batch <= most:
            bands.append((begin, end, colours[light], light))
    return bands


def errors(path, found, rules, workers, accumulations, batch, lights, base_batch):
    lines = []
    for rule in rules:
        points = {}
        for accumulation in accumulations:
            for count in workers:
                good = [value for value in found[accumulation, count, rule] if value is not None]
                if good:
                    points.setdefault(count * accumulation * batch, []).extend(good)
        lines.append((rule, [(one, 100 * (1 - statistics.mean(values))) for one, values in sorted(points.items())], False))
    batches = sorted({count * accumulation * batch for accumulation in accumulations for count in workers})
    x = Axis(batches[0] / math.sqrt(2), batches[-1] * math.sqrt(2), LEFT, WIDTH - RIGHT, True)
    y = Axis(1, 128, HEIGHT - BOTTOM, TOP, True)
    draw(path, "Wrong of the test images (AdaScale: more epochs)", "global batch [samples]", "wrong [%]", x, y,
         [(one, str(one)) for one in batches], [(2 ** power, str(2 ** power)) for power in range(7)], lines,
         light_bands(lights, base_batch, batches[-1]))


def smoothed(values, window):
    return [statistics.mean(values[max(0, i - window + 1):i + 1]) for i in range(len(values))]


def losses(path, curves, rules):
    """Loss over epochs: the base batch, and a middle and the largest batch by two rules."""
    batches = sorted({batch for batch, _, _ in curves})
    wanted = [(batches[0], "unscaled")] + [(batch, rule) for batch in sorted({batches[len(batches) // 2], batches[-1]})
                                           for rule in rules if rule in ("linear", "unscaled")]
    lines, most = [], 1
    for batch, rule in wanted:
        for (own, _, name), (values, epochs) in curves.items():
            if own == batch and name == rule:
                window = max(1, len(values) // epochs)
                smooth = smoothed(values, window)
                points = [(epochs * (i + 1) / len(smooth), max(value, 1e-4)) for i, value in enumerate(smooth)]
                stride = max(1, len(points) // 150)
                lines.append((f"{batch}, {rule}", points[::stride], rule == "unscaled"))
                most = max(most, epochs)
                break
    values = [value for _, points, _ in lines for _, value in points]
    low, high = 2.0 ** math.floor(math.log2(min(values))), 2.0 ** math.ceil(math.log2(max(values)))
    x, y = Axis(0, most, LEFT, WIDTH - RIGHT, False), Axis(low, high, HEIGHT - BOTTOM, TOP, True)
    ticks = [10.0 ** power for power in range(math.ceil(math.log10(low)), math.floor(math.log10(high)) + 1)]
    draw(path, "Training loss, mean of an epoch's steps", "epoch", "loss", x, y,
         [(one, str(one)) for one in range(0, most + 1, max(1, most // 6))], [(one, f"{one:g}") for one in ticks], lines)


def variance(path, points, slope):
    counts = [count for count, _ in points]
    first = points[0][1] * counts[0]
    ideal = [(count, first / count) for count in counts]
    values = [value for _, value in points + ideal]
    x = Axis(counts[0] / 1.2, counts[-1] * 1.2, LEFT, WIDTH - RIGHT, True)
    y = Axis(min(values) / 1.3, max(values) * 1.3, HEIGHT - BOTTOM, TOP, True)
    draw(path, f"Variance of the averaged gradient: slope {slope:.3f}", "N", "variance", x, y,
         [(one, str(one)) for one in counts], [(value, f"{value:.3g}") for _, value in points],
         [("measured", points, False), ("1 / N", ideal, True)])
