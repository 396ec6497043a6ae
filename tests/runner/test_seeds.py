from runner.seeds import A_DAY, DAY_S, SINCE, first_of, first_seed


def test_each_day_of_commits_has_seeds_of_its_own():
    noon = SINCE * DAY_S + DAY_S // 2
    assert first_of(noon) == first_of(noon + 3600) == 1
    assert first_of(noon + DAY_S) == 1 + A_DAY
    assert first_of(noon + 300 * DAY_S) == 1 + 300 * A_DAY


def test_an_archive_without_commits_begins_with_the_first(tmp_path):
    assert first_seed(str(tmp_path)) == 1
