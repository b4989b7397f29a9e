"""Orders: one way through a Dataset, for an epoch.

An order gives *tokens*: small values of JSON that say which element comes, as a row's number. `fetch` makes the element of a
token, `drop` says that nobody will. So a shuffle buffer and a saved state hold tokens, no data, and what is resumed computes
nothing twice. Data that can only be gone through from the front (`from_generator`) lie with their order until they are fetched.

An epoch is a tuple: its number, and behind it the round of each `repeat` around.
"""

import hashlib
import sys

import numpy as np

from ..errors import GantryError, InvalidArgumentError
from ._trees import equal, map_tree, stack

END = object()  # what `next` gives when there are no more tokens, from then on


def words_of(*what):
    """128 bits as two words, which are a function of numbers and texts: a key of Philox."""
    digest = hashlib.blake2b(repr(what).encode(), digest_size=16).digest()
    return [int.from_bytes(digest[:8], "little"), int.from_bytes(digest[8:], "little")]


class Order:
    """What orders have in common; here those that give what `source` gives, perhaps others of its elements."""

    source = None

    def next(self):
        """The next token, or END."""
        raise NotImplementedError

    def start(self, token):
        """The element will be fetched soon."""
        self.source.start(token)

    def fetch(self, token):
        """The element; once for each token."""
        return self.source.fetch(token)

    def gather(self, tokens):
        """Elements as one batch."""
        return self.source.gather(tokens)

    def drop(self, token):
        """The element will not be fetched."""
        self.source.drop(token)

    def state(self):
        """Where the order is, as JSON has it."""
        raise NotImplementedError

    def restore(self, state, pending):
        """Goes there, of an order that has given nothing yet. `pending`: tokens from before, which will be fetched."""
        raise NotImplementedError

    def close(self):
        if self.source is not None:
            self.source.close()


class Slices(Order):
    """Rows of arrays; a token is the number of one."""

    def __init__(self, arrays, count):
        self._arrays, self._count, self._at = arrays, count, 0

    def next(self):
        if self._at >= self._count:
            return END
        self._at += 1
        return self._at - 1

    def start(self, token):
        pass

    def fetch(self, token):
        return map_tree(lambda array: array[token], self._arrays)

    def gather(self, tokens):
        rows = np.asarray(tokens, np.intp)
        return map_tree(lambda array: array[rows], self._arrays)

    def drop(self, token):
        pass

    def state(self):
        return self._at

    def restore(self, state, pending):
        self._at = state


class Generated(Order):
    """What a generator gives; a token is an element's number, and elements wait until they are fetched."""

    def __init__(self, make):
        self._make, self._iterator, self._at, self._waiting, self._is_over = make, None, 0, {}, False

    def next(self):
        if self._is_over:
            return END
        if self._iterator is None:
            self._iterator = self._open()
        for value in self._iterator:
            self._waiting[self._at] = value
            self._at += 1
            return self._at - 1
        self._is_over = True
        return END

    def _open(self):
        made = self._make()
        try:
            return iter(made)
        except TypeError:
            raise InvalidArgumentError(f"from_generator takes a function that gives an iterable, it gave {made!r}") from None

    def start(self, token):
        pass

    def fetch(self, token):
        return self._waiting.pop(token)

    def gather(self, tokens):
        return stack([self.fetch(token) for token in tokens], equal)

    def drop(self, token):
        self._waiting.pop(token, None)

    def state(self):
        return self._at

    def restore(self, state, pending):
        if not state:
            return
        print(f"gantry: remark: from_generator is run again up to element {state}, where the state is", file=sys.stderr)
        wanted = set(pending)
        while self._at < state:
            token = self.next()
            if token is END:
                raise InvalidArgumentError(f"the state is behind element {state}, and the generator gives {self._at}")
            if token not in wanted:
                self.drop(token)

    def close(self):
        if hasattr(self._iterator, "close"):
            try:
                self._iterator.close()
            except ValueError:  # it runs, on a thread that fills
                pass


class Zipped(Order):
    """Elements of several, side by side; a token has one of each."""

    def __init__(self, sources):
        self._sources = sources

    def next(self):
        tokens = [source.next() for source in self._sources]
        if END not in tokens:
            return tokens
        for source, token in zip(self._sources, tokens):
            if token is not END:
                source.drop(token)
        return END

    def start(self, token):
        for source, each in zip(self._sources, token):
            source.start(each)

    def fetch(self, token):
        return tuple(source.fetch(each) for source, each in zip(self._sources, token))

    def gather(self, tokens):
        return tuple(source.gather([token[i] for token in tokens]) for i, source in enumerate(self._sources))

    def drop(self, token):
        for source, each in zip(self._sources, token):
            source.drop(each)

    def state(self):
        return [source.state() for source in self._sources]

    def restore(self, state, pending):
        for i, source in enumerate(self._sources):
            source.restore(state[i], [token[i] for token in pending])

    def close(self):
        for source in self._sources:
            source.close()


class Mapped(Order):
    """What a function makes of elements; a token is [number, token of the source]."""

    def __init__(self, source, call, epoch, seed, stop):
        self.source, self._call, self._epoch, self._seed, self._stop = source, call, epoch, seed, stop
        self._at, self._jobs = 0, {}

    def next(self):
        token = self.source.next()
        if token is END:
            return END
        self._at += 1
        return [self._at - 1, token]

    def _key(self, number):
        return words_of("map", self._seed, self._epoch, number) if self._call.draws else None

    def start(self, token):
        self.source.start(token[1])
        pool = self._call.pool()
        if pool is not None:
            self._jobs[token[0]] = pool, pool.submit(token[0], self.source.fetch(token[1]), self._key(token[0]))

    def fetch(self, token):
        number, inner = token
        if not self._call.workers:
            return self._call.here(number, self.source.fetch(inner), self._key(number))
        if number not in self._jobs:
            self.start(token)
        pool, job = self._jobs.pop(number)
        return pool.wait(job, self._stop)

    def gather(self, tokens):
        for token in tokens:
            if self._call.workers and token[0] not in self._jobs:
                self.start(token)
        return stack([self.fetch(token) for token in tokens], equal)

    def drop(self, token):
        if token[0] in self._jobs:
            pool, job = self._jobs.pop(token[0])
            pool.forget(job)
        else:
            self.source.drop(token[1])

    def state(self):
        return [self._at, self.source.state()]

    def restore(self, state, pending):
        self._at = state[0]
        self.source.restore(state[1], [token[1] for token in pending])

    def close(self):
        for pool, job in self._jobs.values():
            pool.forget(job)
        self._jobs.clear()
        super().close()


class _Draws:
    """Numbers below a bound, one after the other: the high words of Philox's 64 bits times the bound. `at`: how many were drawn."""

    _CHUNK = 1024  # drawn at once, a multiple of the 4 words of a counter

    def __init__(self, key):
        self._key, self.at, self._words = key, 0, []

    def below(self, bound):
        place = self.at % self._CHUNK
        if place == 0 or not self._words:
            bits = np.random.Philox(key=self._key).advance((self.at - place) // 4)
            self._words = bits.random_raw(self._CHUNK).tolist()
        self.at += 1
        return self._words[place] * bound >> 64


class Shuffled(Order):
    """Tokens of the source by way of a buffer, of which one after the other is drawn."""

    def __init__(self, source, most, seed, epoch):
        self.source, self._most = source, most
        self._buffer, self._is_over, self._draws = [], False, _Draws(words_of("shuffle", seed, epoch))

    def next(self):
        buffer, draw = self._buffer, self.source.next
        while not self._is_over and len(buffer) < self._most:
            token = draw()
            if token is END:
                self._is_over = True
            else:
                buffer.append(token)
        if not buffer:
            return END
        place = self._draws.below(len(buffer))
        chosen, last = buffer[place], buffer.pop()
        if place < len(buffer):
            buffer[place] = last
        return chosen

    def state(self):
        return {"buffer": list(self._buffer), "drawn": self._draws.at, "over": self._is_over, "source": self.source.state()}

    def restore(self, state, pending):
        self._buffer, self._draws.at, self._is_over = list(state["buffer"]), state["drawn"], state["over"]
        self.source.restore(state["source"], [*pending, *self._buffer])


class Batched(Order):
    """So many elements at a time; a token has those of a batch."""

    def __init__(self, source, rows, drop_remainder, join=None):
        self.source, self._rows, self._drop_remainder, self._join = source, rows, drop_remainder, join

    def next(self):
        tokens = []
        while len(tokens) < self._rows:
            token = self.source.next()
            if token is END:
                break
            tokens.append(token)
        if len(tokens) == self._rows or tokens and not self._drop_remainder:
            return tokens
        for token in tokens:
            self.source.drop(token)
        return END

    def start(self, token):
        for each in token:
            self.source.start(each)

    def fetch(self, token):
        if self._join is None:
            return self.source.gather(token)
        return stack([self.source.fetch(each) for each in token], self._join)

    def gather(self, tokens):
        return stack([self.fetch(token) for token in tokens], equal)

    def drop(self, token):
        for each in token:
            self.source.drop(each)

    def state(self):
        return self.source.state()

    def restore(self, state, pending):
        self.source.restore(state, [each for token in pending for each in token])


class Repeated(Order):
    """The source in several rounds, each an epoch of its own; a token is [round, token of the source]. A round stays as long as
    tokens of it may be fetched."""

    def __init__(self, make, epoch, count):
        self._make, self._epoch, self._count = make, epoch, count
        self._rounds, self._round, self._given = {}, 0, 0  # rounds: [order, how many tokens were not fetched]

    def _order(self, number):
        if number not in self._rounds:
            self._rounds[number] = [self._make((*self._epoch, number)), 0]
        return self._rounds[number]

    def next(self):
        while self._count is None or self._round < self._count:
            round = self._order(self._round)
            token = round[0].next()
            if token is not END:
                round[1] += 1
                self._given += 1
                return [self._round, token]
            if not self._given and self._count is None:
                break  # nothing, for ever
            self._round, self._given = self._round + 1, 0
            self._leave(self._round - 1)
        return END

    def _leave(self, number):
        if number < self._round and number in self._rounds and not self._rounds[number][1]:
            self._rounds.pop(number)[0].close()

    def _taken(self, number, count=1):
        self._rounds[number][1] -= count
        self._leave(number)

    def start(self, token):
        self._rounds[token[0]][0].start(token[1])

    def fetch(self, token):
        value = self._rounds[token[0]][0].fetch(token[1])
        self._taken(token[0])
        return value

    def gather(self, tokens):
        if any(token[0] != tokens[0][0] for token in tokens):
            return stack([self.fetch(token) for token in tokens], equal)
        made = self._rounds[tokens[0][0]][0].gather([token[1] for token in tokens])
        self._taken(tokens[0][0], len(tokens))
        return made

    def drop(self, token):
        self._rounds[token[0]][0].drop(token[1])
        self._taken(token[0])

    def state(self):
        return {"round": self._round, "given": self._given,
                "rounds": [[number, round[0].state()] for number, round in list(self._rounds.items())]}

    def restore(self, state, pending):
        self._round, self._given = state["round"], state["given"]
        for number, inner in state["rounds"]:
            own = [token[1] for token in pending if token[0] == number]
            self._order(number)[0].restore(inner, own)
            self._rounds[number][1] = len(own)

    def close(self):
        for order, _ in self._rounds.values():
            order.close()


class Taken(Order):
    """The first elements of the source."""

    def __init__(self, source, count):
        self.source, self._left = source, count

    def next(self):
        if not self._left:
            return END
        self._left -= 1
        return self.source.next()

    def state(self):
        return [self._left, self.source.state()]

    def restore(self, state, pending):
        self._left = state[0]
        self.source.restore(state[1], pending)


class Skipped(Order):
    """What is behind the first elements of the source."""

    def __init__(self, source, count):
        self.source, self._left = source, count

    def next(self):
        while self._left:
            token = self.source.next()
            if token is END:
                return END
            self.source.drop(token)
            self._left -= 1
        return self.source.next()

    def state(self):
        return [self._left, self.source.state()]

    restore = Taken.restore


class Store:
    """What a cached Dataset keeps of the source's first epoch: elements by number, and how many there are, once that is known."""

    def __init__(self):
        self.elements, self.count = {}, None

    @property
    def is_whole(self):
        return self.count is not None and len(self.elements) == self.count


class Cached(Order):
    """The source's first epoch, of which each element is made once in a process; a token is its number."""

    def __init__(self, make, store):
        self._make, self._store, self._at, self._tokens = make, store, 0, {}

    def next(self):
        store = self._store
        if store.is_whole:
            self._at += 1
            return self._at - 1 if self._at <= store.count else END
        token = self._first().next()
        if token is END:
            store.count = self._at
            return END
        self._keep(self._at, token)
        self._at += 1
        return self._at - 1

    def _first(self):
        if self.source is None:
            self.source = self._make((0,))
        return self.source

    def _keep(self, number, token):
        if number in self._store.elements:
            self.source.drop(token)
        else:
            self._tokens[number] = token

    def start(self, token):
        if token in self._tokens and token not in self._store.elements:
            self.source.start(self._tokens[token])

    def fetch(self, token):
        known, own = self._store.elements, self._tokens.pop(token, None)
        if token not in known:
            known[token] = self.source.fetch(own)
        elif own is not None:
            self.source.drop(own)
        return known[token]

    def gather(self, tokens):
        return stack([self.fetch(token) for token in tokens], equal)

    def drop(self, token):
        own = self._tokens.pop(token, None)
        if own is not None:
            self.source.drop(own)

    def state(self):
        return self._at

    def restore(self, state, pending):
        """Goes through the order alone: what was kept in another process is made where it is asked for."""
        wanted = set(pending)
        if not self._store.is_whole:
            for number in range(state):
                token = self._first().next()
                if token is END:
                    raise InvalidArgumentError(f"the state is behind element {state} of a cache, and there are {number}")
                if number in wanted:
                    self._keep(number, token)
                else:
                    self.source.drop(token)
        self._at = state


class Call:
    """A function of elements, which may draw; in workers, where there are some."""

    def __init__(self, f, draws, workers):
        self.f, self.draws, self.workers, self._pool = f, draws, workers, None

    def pool(self):
        """The workers that there are; started where there are none. None for a call that is made here."""
        if not self.workers:
            return None
        if self._pool is None or self._pool.is_over:
            from ._workers import Pool
            self._pool = Pool(self.f, self.workers)
        return self._pool

    def here(self, number, element, key):
        try:
            return call(self.f, element, key)
        except Exception as error:
            raise GantryError(f"map: element {number}: {type(error).__name__}: {error}") from error


def call(f, element, key):
    """f of an element, whose parts are arguments where it is a tuple."""
    arguments = element if isinstance(element, tuple) else (element,)
    if key is None:
        return f(*arguments)
    return f(*arguments, rng=np.random.Generator(np.random.Philox(key=np.array(key, np.uint64))))
