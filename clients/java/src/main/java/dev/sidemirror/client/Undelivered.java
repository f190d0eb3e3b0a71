package dev.sidemirror.client;

import java.util.List;

/**
 * What a client had not delivered when it was closed.
 *
 * @param events how many events
 * @param outcomes how many outcomes, each of a receipt
 * @param goals how many goals
 * @param turns the ids of the turns that they belong to, the first 10,000
 */
public record Undelivered(long events, long outcomes, long goals, List<String> turns) {
  /**
   * Whether everything was delivered.
   *
   * @return true when nothing is missing
   */
  public boolean isEmpty() {
    return events == 0 && outcomes == 0 && goals == 0;
  }
}
