import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Supplier;

/**
 * The longest that a use of the client took: by the clock, and by what this process did. That is what it computed
 * meanwhile; and since one that waits computes nothing, what one use in a hundred exceeds.
 */
final class Longest {
  private static final OperatingSystemMXBean PROCESS =
      (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

  private final List<Long> hereNs = new ArrayList<>();
  private long computedNs;
  long plainNs;

  <T> T of(Supplier<T> use) {
    long waited = waited();
    long computed = PROCESS.getProcessCpuTime();
    long began = System.nanoTime();
    T answer = use.get();
    long plain = System.nanoTime() - began;
    long here = plain - (waited() - waited);
    hereNs.add(here);
    plainNs = Math.max(plainNs, plain);
    computedNs = Math.max(computedNs, Math.min(here, PROCESS.getProcessCpuTime() - computed));
    return answer;
  }

  long heldNs() {
    hereNs.sort(Comparator.reverseOrder());
    return Math.max(computedNs, hereNs.get(hereNs.size() / 100));
  }

  /** For how many nanoseconds this thread could have run while others had its core; 0 where the system does not say. */
  private static long waited() {
    try {
      return Long.parseLong(Files.readString(Path.of("/proc/thread-self/schedstat")).split(" ")[1]);
    } catch (IOException unknown) {
      return 0;
    }
  }
}
