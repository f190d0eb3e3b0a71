package dev.sidemirror.client;

import dev.sidemirror.client.Connections.Connection;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;

/** The connections that carry turns: one more for every 80 of them. On the client's own thread. */
final class Pool {
  /** Turns on one connection. The sidecar takes 100 streams, and counts one that has ended for a moment longer. */
  private static final int STREAMS = 80;

  /** Chosen here: room for a thousand turns at once, and a few more. */
  private static final int MOST_CONNECTIONS = 16;

  /** A connection, and how many turns it carries. */
  static final class Place {
    private final Connection connection;
    private int taken;

    Place(Connection connection) {
      this.connection = connection;
    }

    Connection connection() {
      return connection;
    }
  }

  private final Supplier<Connection> make;
  private final List<Place> places = new ArrayList<>();

  Pool(Supplier<Connection> make) {
    this.make = make;
  }

  /** A connection with room for a stream; null when there is none. */
  Place take() {
    Place free = places.stream().filter(each -> each.taken < STREAMS).findFirst().orElse(null);
    if (free == null && places.size() < MOST_CONNECTIONS) {
      free = new Place(make.get());
      places.add(free);
    }
    if (free != null) {
      free.taken++;
    }
    return free;
  }

  /** A stream has ended. */
  void release(Place place) {
    place.taken--;
  }

  /** Ends every connection, and the streams on it. The next stream is opened on a new one. */
  void giveUp() {
    places.forEach(each -> each.connection.close());
    places.clear();
  }
}
