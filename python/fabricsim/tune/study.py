"""The search: settings are suggested, run and reported to the sampler so that the same seed gives the same study."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from fabricsim.errors import InputError
from fabricsim.memory import Allowance
from fabricsim.sweep import Stop, never
from fabricsim.sweep.executors import Executor
from fabricsim.tune.pareto import best
from fabricsim.tune.problem import Problem
from fabricsim.tune.record import Record
from fabricsim.tune.runs import BASELINE, Answer, Run, Task, work
from fabricsim.tune.samplers import sampler

if TYPE_CHECKING:
    from optuna.study import Study
    from optuna.trial import FrozenTrial, Trial

_RUNS = "fabricsim:runs"


@dataclass(frozen=True)
class Progress:
    """Progress of a study."""

    done: int
    """Trials, the baseline not counted."""
    trials: int
    failed: int
    best: Record | None


class Search:
    """A running study.

    Trial n is chosen when trials 0 to n - window are done, and by their results alone: later ones are
    reported later, in any case. So neither the number of processes nor their speed has an influence, and as
    results are stored as they come, a study that was interrupted becomes what it would have been.
    """

    def __init__(
        self,
        problem: Problem,
        study: Study,
        on_progress: Callable[[Progress], None] | None = None,
        on_record: Callable[[Search], None] | None = None,
    ) -> None:
        self.problem = problem
        self.study = study
        self.records: dict[int, Record] = {}
        """Trials that are done, and the baseline, by number."""
        self._on_progress = on_progress
        self._on_record = on_record
        self._asked: dict[int, dict[str, Any]] = {}
        self._trials: dict[int, Trial] = {}
        self._told: set[int] = set()
        self._answers: dict[int, dict[int, Answer]] = {}
        self._todo: deque[Task] = deque()
        self._known: dict[str, Record] = {}
        self._take_up()

    @property
    def baseline(self) -> Record | None:
        return self.records.get(BASELINE)

    @property
    def trials(self) -> list[Record]:
        """Trials that are done, by number."""
        return [self.records[number] for number in sorted(self.records) if number != BASELINE]

    @property
    def complete(self) -> bool:
        return self._done >= self.problem.trials and self.baseline is not None

    @property
    def _done(self) -> int:
        return len(self.records) - (BASELINE in self.records)

    def run(self, executor: Executor, stop: Stop = never, allowed: Allowance | None = None) -> None:
        """Goes on until all trials are done, or a stop.

        Raises:
            InputError: the unchanged experiment cannot be run, or does not measure the objectives.
        """
        self._report()
        job = partial(work, allowed=allowed)
        while not self.complete:
            before = len(self.records)
            if not executor.work_through(_Tasks(self), job, self._take, stop=stop, on_lost=self._lose):
                return
            assert len(self.records) > before, "an executor left out a task"
        self._tell(self.problem.trials)

    def next_task(self) -> Task | None:
        """A run that may begin now; None if there is none before another is done."""
        while not self._todo:
            number = len(self._asked)
            if self.baseline is None or number >= self.problem.trials:
                return None
            if not all(n in self.records for n in range(number - self.problem.window + 1)):
                return None
            self._begin(number, self._ask(number))
        return self._todo.popleft()

    def _take_up(self) -> None:
        """Trials of the study in the storage."""
        if (stored := self.study.user_attrs.get(_RUNS)) is not None:
            self._keep(BASELINE, {}, [Run.of(run) for run in stored])
        else:
            self._begin(BASELINE, {})
        for trial in self.study.get_trials(deepcopy=False):
            if trial.state.name == "WAITING":
                break
            self._take_up_trial(trial)

    def _take_up_trial(self, frozen: FrozenTrial) -> None:
        from optuna.trial import Trial  # noqa: PLC0415 - takes long

        number = frozen.number
        if frozen.state.is_finished():
            self._told.add(number)
        self._trials[number] = Trial(self.study, frozen._trial_id)
        if len(frozen.params) < len(self.problem.parameters):  # its asking was cut short
            self.study.sampler = sampler(self.problem, number)
            for item in self.problem.parameters:
                self._trials[number]._suggest(item.key, item.distribution())
        self._asked[number] = dict(self._trials[number].params)
        if (stored := frozen.user_attrs.get(_RUNS)) is not None:
            self._keep(number, self.problem.settings(self._asked[number]), [Run.of(run) for run in stored])
        else:
            self._begin(number, self._asked[number])

    def _ask(self, number: int) -> dict[str, Any]:
        self._tell(number - self.problem.window + 1)
        given: dict[str, Any] | None = None
        if number < len(self.problem.starts):
            given = self.problem.starts[number]
        elif self.problem.sampler == "grid":
            given = self.problem.grid_point(number - len(self.problem.starts))
        waiting = [trial for trial in self.study.get_trials(deepcopy=False) if trial.state.name == "WAITING"]
        if given is not None and not waiting:
            self.study.enqueue_trial(given)
        self.study.sampler = sampler(self.problem, number)
        trial = self.study.ask({p.key: p.distribution() for p in self.problem.parameters})
        if trial.number != number:
            raise InputError(
                "another process works on the same study; give this one another name with --study"
            )
        self._trials[number] = trial
        self._asked[number] = dict(trial.params)
        return self._asked[number]

    def _begin(self, number: int, drawn: Mapping[str, Any]) -> None:
        settings = {} if number == BASELINE else self.problem.settings(drawn)
        key = repr(sorted(settings.items()))
        if number != BASELINE and key in self._known:
            self._finish(number, settings, list(self._known[key].runs))
            return
        metrics = tuple(wanted.which for wanted in self.problem.metrics)
        self._answers[number] = {}
        variants = self.problem.variants(settings, self.problem.seeds)
        self._todo.extend(
            Task(number, place, experiment, metrics) for place, (_, _, experiment) in enumerate(variants)
        )

    def _take(self, task: Task, answer: Answer | None) -> None:
        if answer is None:
            return
        if task.trial == BASELINE and answer.refused:
            raise InputError(answer.error)
        answers = self._answers[task.trial]
        answers[task.place] = answer
        settings = {} if task.trial == BASELINE else self.problem.settings(self._asked[task.trial])
        variants = self.problem.variants(settings, self.problem.seeds)
        if len(answers) == len(variants):
            runs = [
                Run(scenario.name, seed, **vars(answers[place]))
                for place, (scenario, seed, _) in enumerate(variants)
            ]
            del self._answers[task.trial]
            self._finish(task.trial, settings, runs)

    def _lose(self, task: Task, why: str) -> None:
        self._take(task, Answer(error=why))

    def _finish(self, number: int, settings: Mapping[str, Any], runs: list[Run]) -> None:
        """Stores what a setting gave; the sampler learns of it when it is its turn."""
        stored = [run.as_dict() for run in runs]
        if number == BASELINE:
            self.study.set_user_attr(_RUNS, stored)
        else:
            self._trials[number].set_user_attr(_RUNS, stored)
        self._keep(number, settings, runs)
        if self._on_record:
            self._on_record(self)
        self._report()

    def _keep(self, number: int, settings: Mapping[str, Any], runs: list[Run]) -> None:
        record = Record.of(self.problem, number, settings, runs)
        self.records[number] = record
        if number != BASELINE:
            self._known.setdefault(repr(sorted(settings.items())), record)

    def _tell(self, end: int) -> None:
        """Reports the results of trials 0 to `end - 1` to the sampler."""
        from optuna.trial import TrialState  # noqa: PLC0415 - takes long

        for number in range(max(end, 0)):
            if number in self._told:
                continue
            self._told.add(number)
            record = self.records[number]
            if record.error:
                self.study.tell(number, state=TrialState.FAIL)
                continue
            for at, excess in enumerate(record.excess):
                self._trials[number].set_constraint(f"{at}: {self.problem.constraints[at].name}", excess)
            self.study.tell(number, list(record.values))

    def _report(self) -> None:
        if self._on_progress is None:
            return
        failed = sum(bool(record.error) for record in self.trials)
        self._on_progress(
            Progress(
                self._done,
                self.problem.trials,
                failed,
                best(self.trials, self.problem.axes),
            )
        )


class _Tasks(Iterator[Task]):
    """The runs that may begin. It ends when none may begin before another is done, and may then go on: executors ask
    again after each result.
    """

    def __init__(self, search: Search) -> None:
        self._search = search

    def __next__(self) -> Task:
        task = self._search.next_task()
        if task is None:
            raise StopIteration
        return task
