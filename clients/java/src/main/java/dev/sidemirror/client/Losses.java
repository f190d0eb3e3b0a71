package dev.sidemirror.client;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;

/** Counts what is dropped, of all turns of a client. Safe for many threads. */
final class Losses {
  /** Turns that are named: as many as may be open. Of more the counts are enough. */
  private static final int MOST_NAMED = 10_000;

  private final Set<String> turns = new LinkedHashSet<>();
  private long events;
  private long outcomes;
  private long goals;

  synchronized void add(String turnId, int moreEvents, int moreOutcomes, int moreGoals) {
    if (moreEvents == 0 && moreOutcomes == 0 && moreGoals == 0) {
      return;
    }
    events += moreEvents;
    outcomes += moreOutcomes;
    goals += moreGoals;
    if (turns.size() < MOST_NAMED) {
      turns.add(turnId);
    }
  }

  synchronized Undelivered soFar() {
    return new Undelivered(events, outcomes, goals, List.copyOf(turns));
  }
}
