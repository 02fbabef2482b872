"""The command line of the experiments: a list, an error, a name."""

from lmlib.experiments.__main__ import main, names


def test_without_a_name_every_experiment_is_listed_with_its_purpose(capsys):
    assert main([]) == main(["--help"]) == 0
    listed = capsys.readouterr().out
    assert "brown_ngrams" in names()
    for name in names():
        assert f"  {name} " in listed


def test_an_unknown_name_is_an_error_that_lists_the_known_ones(capsys):
    assert main(["brown"]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "no experiment 'brown': expected one of" in captured.err
    assert "brown_ngrams" in captured.err
