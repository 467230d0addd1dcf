import warnings

import numpy as np
import pytest
from matplotlib import colors
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon

from drbo.errors import DrboError, ResultError
from drbo.result.pictures.canvas import LEGEND
from drbo.result.pictures.plot import COMPARED, NEGATIVE, PLAIN, POSITIVE, WEAK_DASHES, draw, plot_compare, plot_trace
from drbo.result.pictures.routes import BOX_HEIGHT, BOX_ROUND
from tests.results import make_result

CHAIN = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
WEIGHTS = np.array([[0, 0.9, 0], [0, 0, -0.2], [0, 0, 0]])


def random_dag(seed, d, edges_per_node):
    rng = np.random.default_rng(seed)
    order = rng.permutation(d)
    return np.triu(rng.random((d, d)) < 2 * edges_per_node / (d - 1), 1)[np.ix_(order, order)]


def axes(width=8.0, height=6.0):
    return Figure(figsize=(width, height)).add_axes((0, 0, 1, 1))


def patches(ax, kind):
    return [patch for patch in ax.patches if type(patch) is kind and patch.get_label() != LEGEND]


def corners(box):
    return np.array([box.get_x(), box.get_y()]), np.array([box.get_x() + box.get_width(), box.get_y() + BOX_HEIGHT])


def a_result(**changes):
    values = {
        "names": ("a", "b", "c"),
        "score": -2.0,
        "pruned_score": -2.0,
        "standardised_weights": WEIGHTS,
        "trace": {
            "n_evals": [0, 8, 16],
            "n_local": [0, 9, 11],
            "seconds": [0, 1, 2],
            "best": [-np.inf, -5, -2],
        },
    }
    return make_result(CHAIN, **(values | changes))


class TestFiles:
    @pytest.mark.parametrize(("kind", "start"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("pdf", b"%PDF")])
    def test_kinds(self, tmp_path, kind, start):
        draw(CHAIN, ["a", "b", "c"], WEIGHTS, path=tmp_path / f"graph.{kind}")
        assert (tmp_path / f"graph.{kind}").read_bytes().startswith(start)

    def test_unknown_kind_and_bad_folder(self, tmp_path):
        with pytest.raises(ResultError, match="cannot be written"):
            draw(CHAIN, path=tmp_path / "graph.nonsense")
        with pytest.raises(ResultError, match="cannot be written"):
            draw(CHAIN, path=tmp_path / "no" / "graph.png")

    def test_pyplot_is_used_only_when_nobody_else_shows_the_figure(self, tmp_path):
        draw(CHAIN, path=tmp_path / "graph.png")
        draw(CHAIN, ax=axes())
        plot_trace(a_result(), tmp_path / "trace.png")
        assert plt.get_fignums() == []
        with plt.rc_context({"backend": "agg"}):
            shown = draw(CHAIN)
            assert plt.get_fignums() == [shown.figure.number]
            plt.close(shown.figure)

    def test_inside_a_subfigure(self, tmp_path):
        figure = Figure()
        left, _ = figure.subfigures(1, 2)
        draw(CHAIN, ax=left.add_subplot(), path=tmp_path / "graph.png")
        assert (tmp_path / "graph.png").stat().st_size > 1000


class TestText:
    def test_names_are_plain_text(self, tmp_path):
        names = ["cost $x_1$ in $", "$\\frac{", "50% \\alpha_^{}"]
        ax = draw(CHAIN, names, ax=axes(), path=tmp_path / "graph.png")
        assert [text.get_text() for text in ax.texts[:3]] == names
        assert not any(text.get_parse_math() for text in ax.texts[:3])

    def test_control_characters_and_long_names(self):
        ax = draw(CHAIN, ["a\nb", "x" * 20 + "y" * 20, "c"], ax=axes())
        labels = [text.get_text() for text in ax.texts[:3]]
        assert labels[0] == "a\\nb"
        assert labels[1].startswith("xxxxx")
        assert labels[1].endswith("yyyyy")
        assert "…" in labels[1]
        assert len(labels[1]) <= 26

    @pytest.mark.parametrize("size", [(12.0, 9.0), (4.0, 3.0), (3.0, 8.0)])
    def test_labels_stay_inside_their_boxes_and_boxes_apart(self, size):
        dag = random_dag(0, 30, 1.2)
        ax = draw(dag, [f"variable {j} {'x' * (j % 9)}" for j in range(30)], ax=axes(*size))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            ax.figure.canvas.draw()
        boxes = [box.get_window_extent() for box in patches(ax, FancyBboxPatch)]
        for text, box in zip(ax.texts, boxes, strict=False):
            inner = text.get_window_extent()
            assert box.x0 - 1 <= inner.x0
            assert inner.x1 <= box.x1 + 1
            assert box.y0 - 1 <= inner.y0
            assert inner.y1 <= box.y1 + 1
        for k, box in enumerate(boxes):
            assert not any(box.overlaps(other) for other in boxes[:k])
        room = ax.get_window_extent()
        assert all(room.x0 <= box.x0 and box.x1 <= room.x1 for box in boxes)


class TestEdges:
    def test_colour_by_sign_and_width_by_size(self):
        ax = draw(CHAIN, ["a", "b", "c"], WEIGHTS, ax=axes())
        weak, strong = patches(ax, PathPatch)  # strong edges are drawn last
        assert colors.same_color(strong.get_edgecolor()[:3], POSITIVE)
        assert colors.same_color(weak.get_edgecolor()[:3], NEGATIVE)
        assert strong.get_linewidth() > 1.5 * weak.get_linewidth()
        assert strong.get_alpha() > weak.get_alpha()
        texts = [text.get_text() for text in ax.texts[3:]]
        assert texts == ["positive", "negative", "line width: absolute standardised weight"]

    def test_weights_above_one_are_drawn_as_one(self):
        one, two = (draw(CHAIN[:2, :2], weights=[[0, w], [0, 0]], ax=axes()) for w in (1.0, 50.0))
        assert patches(one, PathPatch)[0].get_linewidth() == patches(two, PathPatch)[0].get_linewidth()

    def test_without_weights_no_signs(self):
        ax = draw(CHAIN, ax=axes())
        assert all(colors.same_color(line.get_edgecolor()[:3], PLAIN) for line in patches(ax, PathPatch))
        assert [text.get_text() for text in ax.texts] == ["x0", "x1", "x2"]

    def test_undirected_edges_have_no_head(self):
        undirected = np.zeros((3, 3), dtype=bool)
        undirected[1, 0] = True  # either side will do
        ax = draw(CHAIN, undirected=undirected, ax=axes())
        assert len(patches(ax, PathPatch)) == 2
        assert len(patches(ax, Polygon)) == 1
        assert [text.get_text() for text in ax.texts[3:]] == ["direction supported", "direction open"]

    def test_assumed_edges_have_a_hollow_head_and_weak_ones_dashes(self):
        one = np.zeros((3, 3), dtype=bool)
        one[0, 1] = True
        ax = draw(CHAIN, assumed=one, weak=one, ax=axes())
        hollow = [colors.same_color(head.get_facecolor()[:3], "white") for head in patches(ax, Polygon)]
        assert sorted(hollow) == [False, True]
        styles = {line.get_linestyle() for line in patches(ax, PathPatch)}
        assert styles == {"solid", WEAK_DASHES}
        texts = [text.get_text() for text in ax.texts[3:]]
        assert texts == ["direction supported", "direction assumed", "weak edge"]
        with pytest.raises(ResultError, match=r"weak must be a \(3, 3\) matrix"):
            draw(CHAIN, weak=[True], ax=axes())

    def test_result_brings_its_own_parts(self):
        whole_class = draw(a_result(), ax=axes())
        assert patches(whole_class, Polygon) == []
        assert [text.get_text() for text in whole_class.texts[:3]] == ["a", "b", "c"]
        directed = draw(a_result(score_equivalent=False), ax=axes())
        assert len(patches(directed, Polygon)) == 2

    @pytest.mark.parametrize("seed", range(4))
    def test_heads_touch_the_upper_border_of_the_target(self, seed):
        dag = random_dag(seed, 15, 1.5)
        ax = draw(dag, ax=axes())
        boxes = patches(ax, FancyBboxPatch)
        tips = np.array([head.get_xy()[0] for head in patches(ax, Polygon)])
        assert len(tips) == dag.sum()
        for node, box in enumerate(boxes):
            low, high = corners(box)
            on_border = np.isclose(tips[:, 1], high[1]) & (tips[:, 0] >= low[0]) & (tips[:, 0] <= high[0])
            assert on_border.sum() == dag[:, node].sum()

    @pytest.mark.parametrize("seed", range(4))
    def test_lines_leave_the_source_and_touch_no_other_box(self, seed):
        dag = random_dag(seed, 25, 1.5)
        ax = draw(dag, ax=axes())
        boxes = [corners(box) for box in patches(ax, FancyBboxPatch)]
        starts = []
        for line in patches(ax, PathPatch):
            points = line.get_path().vertices
            starts.append(points[0])
            for low, high in boxes:
                inside = ((points > low + 0.5) & (points < high - 0.5)).all(axis=1)
                assert not inside.any()
        starts = np.array(starts)
        for node, (low, high) in enumerate(boxes):
            leaving = np.isclose(starts[:, 1], low[1]) & (starts[:, 0] >= low[0]) & (starts[:, 0] <= high[0])
            assert leaving.sum() == dag[node].sum()

    def test_ends_at_one_node_are_spread(self):
        dag = np.zeros((5, 5), dtype=bool)
        dag[:4, 4] = True
        tips = sorted(head.get_xy()[0, 0] for head in patches(draw(dag, ax=axes()), Polygon))
        assert min(np.diff(tips)) > 3
        assert max(tips) - min(tips) < 60 - BOX_ROUND

    def test_no_edges(self, tmp_path):
        ax = draw(np.zeros((2, 2)), weights=np.zeros((2, 2)), path=tmp_path / "graph.png")
        assert len(ax.texts) == 2


class TestBadInput:
    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"graph": [[0, 1], [1, 0]]}, "cycle"),
            ({"graph": np.zeros((2, 3))}, "square"),
            ({"graph": np.zeros((0, 0))}, "at least one node"),
            ({"graph": CHAIN, "names": ["a"]}, "3 nodes"),
            ({"graph": CHAIN, "weights": np.zeros((2, 2))}, "weights must be"),
            ({"graph": CHAIN, "weights": np.full((3, 3), np.nan)}, "finite on the edges"),
            ({"graph": CHAIN, "undirected": np.zeros((2, 2))}, "undirected must be"),
        ],
    )
    def test_message(self, arguments, message):
        with pytest.raises(DrboError, match=message):
            draw(**arguments, ax=axes())


class TestTrace:
    def test_only_finite_scores_are_drawn(self, tmp_path):
        ax = plot_trace(a_result(), tmp_path / "trace.svg")
        line = ax.get_lines()[0]
        assert line.get_xdata().tolist() == [8, 16]
        assert line.get_ydata().tolist() == [-5, -2]
        assert (tmp_path / "trace.svg").stat().st_size > 0

    def test_empty(self):
        with pytest.raises(ResultError, match="empty"):
            plot_trace(make_result(CHAIN))


class TestCompare:
    LEARNED = np.array([[0, 1, 0, 0], [0, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, 0]])  # a->b right, c->b turned, b->d extra
    TRUTH = np.array([[0, 1, 1, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    KINDS = ("correct", "reversed", "missing", "extra")

    def test_every_edge_is_drawn_once_in_the_style_of_its_kind(self):
        ax = plot_compare(self.LEARNED, self.TRUTH, names=list("abcd"), ax=axes())
        drawn = sorted(colors.to_hex(line.get_edgecolor()) for line in patches(ax, PathPatch))
        assert drawn == sorted(COMPARED[kind][0].colour.lower() for kind in self.KINDS)

    def test_the_styles_differ_without_colour_too(self):
        assert len({COMPARED[kind][0].dashes for kind in self.KINDS}) == 4
        assert len({COMPARED[kind][0].colour for kind in self.KINDS}) == 4

    def test_colours_stay_apart_for_colour_blind_people(self):
        """Machado, Oliveira & Fernandes (2009), severity 1: protanopia and deuteranopia."""
        views = (
            [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
            [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        )
        linear = np.array([colors.to_rgb(COMPARED[kind][0].colour) for kind in self.KINDS]) ** 2.2
        for view in views:
            seen = np.clip(linear @ np.array(view).T, 0, 1) ** (1 / 2.2)
            gaps = np.linalg.norm(seen[:, None] - seen[None], axis=2)[np.triu_indices(4, 1)]
            assert gaps.min() > 0.2

    def test_a_reversed_edge_points_as_learned(self):
        ax = plot_compare([[0, 0], [1, 0]], [[0, 1], [0, 0]], ax=axes())
        (head,) = patches(ax, Polygon)
        upper, lower = sorted((corners(box)[0][1] for box in patches(ax, FancyBboxPatch)), reverse=True)
        tip = head.get_xy()[0][1]
        assert abs(tip - upper) < 1 < abs(tip - lower)

    def test_an_undirected_edge_of_a_class_has_no_head(self):
        ax = plot_compare(a_result(), CHAIN, ax=axes())
        assert not patches(ax, Polygon)
        assert "direction undetermined: 2" in ax.texts[-1].get_text()

    def test_a_cycle_of_learned_and_true_edges_is_no_obstacle(self, tmp_path):
        plot_compare(random_dag(1, 30, 2), random_dag(2, 30, 2), path=tmp_path / "compare.png")
        assert (tmp_path / "compare.png").stat().st_size > 10_000

    def test_the_result_offers_it(self, tmp_path):
        a_result().plot_compare(CHAIN, path=tmp_path / "compare.svg")
        a_result().plot_trace(path=tmp_path / "trace.svg")
        assert (tmp_path / "compare.svg").exists()
