"""The page of a benchmark: what it says of a figure, whatever the figure is called."""

from html.parser import HTMLParser

from tests.bench.figures import Figure, Goal, Side
from tests.bench.report import as_page

HOSTILE = """</title></style><script src="https://evil.example/x.js">'"&amp;"""
MACHINE = {"cores": 2, "platform": HOSTILE}


class Page(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def figure(name: str = "f", limit: float = 0.5) -> Figure:
    goals = [Goal(name, 0.75, ">=", limit, name)]
    sides = [Side(name, name, [1.0, 3.0, 2.0], {name: 1.25}), Side("baseline", name, [4.0, 2.0, 3.0])]
    return Figure(name, goals, sides, [name])


def page(*figures: Figure, **left_out: str) -> Page:
    return Page(as_page(figures, MACHINE, left_out))


def test_names_are_text_wherever_they_stand_in_the_report() -> None:
    hostile, plain = page(figure(HOSTILE, limit=0.9), spark=HOSTILE), page(figure("x", limit=0.9), spark="x")
    assert hostile.tags == plain.tags
    assert hostile.attributes == plain.attributes
    said = "".join(hostile.texts)
    assert said.count(HOSTILE) == "".join(page(figure("☃", limit=0.9), spark="☃").texts).count("☃") + 1


def test_the_report_needs_no_other_file() -> None:
    found = page(figure())
    assert not {"script", "link", "img", "iframe", "object"} & set(found.tags)
    assert not {"src", "href", "xlink:href", "action"} & {name for name, _ in found.attributes}
    assert "url(" not in as_page([figure()], MACHINE, {})


def test_each_side_has_its_median_its_range_and_who_used_the_processors() -> None:
    text = as_page([figure("rate")], MACHINE, {})
    assert "<td>2.00<td>1.00 to 3.00" in text
    assert "<td>3.00<td>2.00 to 4.00" in text
    assert "rate 1.2" in text


def test_every_sample_of_a_side_is_plotted() -> None:
    (first, second) = [value or "" for name, value in page(figure()).attributes if name == "points"]
    heights = [float(point.split(",")[1]) for point in first.split()]
    assert len(heights) == len(second.split()) == 3
    assert heights[1] < heights[2] < heights[0], "higher samples stand higher"


def test_a_single_sample_is_not_plotted() -> None:
    assert "svg" not in page(Figure("f", [], [Side("a", "kB", [1.0])])).tags


def test_sides_of_different_units_are_plotted_apart() -> None:
    sides = [Side("a", "ms", [1.0, 2.0]), Side("b", "events/s", [1000.0, 2000.0])]
    assert page(Figure("f", [], sides)).tags.count("svg") == 2


def test_goals_that_were_missed_and_scenarios_left_out_are_said_first() -> None:
    text = as_page([figure("kept"), figure("broken", limit=0.9)], MACHINE, {"fanout": "no nchan here"})
    assert text.index("Not met: broken.") < text.index("no nchan here") < text.index("<h2>kept")
    assert '<p class="missed">broken' in text
    assert '<p class="met">kept' in text
