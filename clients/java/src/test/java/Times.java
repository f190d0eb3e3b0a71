import com.google.gson.JsonObject;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;

/** How long what a scenario times has taken, in nanoseconds, by the text that names it. */
final class Times {
  private final Map<String, List<Long>> times = new TreeMap<>();

  /** What comes of it; where the step wants it, the time until then is kept. */
  <T> T of(JsonObject step, Callable<T> use) throws Exception {
    long began = System.nanoTime();
    T answer = use.call();
    long took = System.nanoTime() - began;
    if (step.has("timed")) {
      times.computeIfAbsent(Matching.text(step, "timed"), name -> new ArrayList<>()).add(took);
    }
    return answer;
  }

  /** Prints the figures, in milliseconds, where anything was timed. */
  void print() {
    if (times.isEmpty()) {
      return;
    }
    JsonObject all = new JsonObject();
    times.forEach(
        (name, taken) -> {
          Collections.sort(taken);
          JsonObject figures = new JsonObject();
          figures.addProperty("count", taken.size());
          figures.addProperty("p50_ms", taken.get(taken.size() / 2) / 1e6);
          figures.addProperty("p99_ms", taken.get(taken.size() * 99 / 100) / 1e6);
          figures.addProperty("most_ms", taken.get(taken.size() - 1) / 1e6);
          all.add(name, figures);
        });
    System.out.println("timed " + all);
  }
}
