import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import com.google.protobuf.util.JsonFormat;
import com.sun.management.OperatingSystemMXBean;
import dev.sidemirror.client.Events;
import dev.sidemirror.client.Problem;
import dev.sidemirror.client.Sidemirror;
import dev.sidemirror.client.Turn;
import dev.sidemirror.v1.TaskOutcome;
import dev.sidemirror.v1.TurnDirective;
import dev.sidemirror.v1.TurnEvent;
import dev.sidemirror.v1.TurnStarted;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.Metadata;
import io.grpc.MethodDescriptor;
import io.grpc.MethodDescriptor.PrototypeMarshaller;
import io.grpc.ServiceDescriptor;
import io.grpc.Status;
import io.grpc.StatusRuntimeException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Runs the scenario of clients/scenario with the Java client. How a runner behaves is said there, in README.md. */
public final class Scenario {
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final Pattern VARIABLE = Pattern.compile("\\$([a-z_]+)");

  /** Something is not as the scenario says. */
  private static final class Unexpected extends Exception {
    private static final long serialVersionUID = 1;

    Unexpected(String what) {
      super(what);
    }
  }

  private final Map<String, String> variables = new HashMap<>();
  private final Map<String, Turn> turns = new HashMap<>();
  private final Map<String, List<JsonElement>> directives = new HashMap<>();
  private final AtomicInteger told = new AtomicInteger();
  private final BufferedReader stdin = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
  private Sidemirror client;

  private Scenario(JsonObject variables) {
    variables.entrySet().forEach(each -> this.variables.put(each.getKey(), each.getValue().getAsString()));
  }

  public static void main(String[] arguments) throws Exception {
    JsonArray steps = JsonParser.parseString(Files.readString(Path.of(arguments[0]))).getAsJsonArray();
    Scenario runner = new Scenario(JsonParser.parseString(System.getenv("SCENARIO_VARIABLES")).getAsJsonObject());
    List<String> has = Arrays.asList(System.getenv("SCENARIO_HAS").split(","));
    int passed = 0;
    for (JsonElement given : steps) {
      JsonObject step = given.getAsJsonObject();
      if (strings(step.get("needs")).stream().anyMatch(need -> !has.contains(need))) {
        continue;
      }
      System.out.println("step " + text(step, "name"));
      try {
        runner.step(runner.filled(step).getAsJsonObject());
      } catch (Unexpected | StatusRuntimeException | TimeoutException wrong) {
        System.err.println(text(step, "name") + ": " + wrong);
        System.exit(1);
      }
      passed++;
    }
    runner.client.close();
    System.out.println("passed " + passed);
  }

  private void step(JsonObject step) throws Exception {
    if (step.has("connect")) {
      connect(step.getAsJsonObject("connect"));
    } else if (step.has("server")) {
      control(text(step, "server"));
    } else if (step.has("turn")) {
      turn(step);
    } else if (step.has("away")) {
      away(step.getAsJsonObject("away"));
    } else {
      call(step);
    }
  }

  private void connect(JsonObject given) throws Exception {
    if (client != null) {
      client.close();
    }
    Sidemirror.Builder builder =
        Sidemirror.builder()
            .address(text(given, "address"))
            .scope(text(given, "tenant_id"), text(given, "project_id"))
            .onAway(this::count);
    if (given.has("token_file")) {
      builder.tokenFile(Path.of(text(given, "token_file")));
    }
    if (given.has("ca_file")) {
      builder.caFile(Path.of(text(given, "ca_file")));
    }
    client = builder.connect();
    if (!given.has("wait") || given.get("wait").getAsBoolean()) {
      client.waitUntilReady(PATIENCE);
    }
  }

  private void count(Throwable why) {
    told.incrementAndGet();
    System.out.println("told " + why.getMessage());
    throw new AssertionError("an agent's own callback");
  }

  /** Has something done to the sidecar. */
  private void control(String what) throws IOException, Unexpected {
    System.out.println("@" + what);
    String answer = stdin.readLine();
    if (!"done".equals(answer)) {
      throw new Unexpected(what + ": " + answer);
    }
  }

  // --- calls -----------------------------------------------------------------------------------------------------------

  private record Answers(List<JsonElement> answers, Status status, Metadata trailers) {}

  private void call(JsonObject step) throws Exception {
    Answers came = answers(step, method(text(step, "call")));
    if (!came.status().isOk() || step.has("error")) {
      checkError(step, came);
      return;
    }
    JsonElement all = came.answers().isEmpty() ? JsonNull.INSTANCE : came.answers().get(0);
    if (step.has("expect_stream")) {
      checkStream(step.getAsJsonArray("expect_stream"), came.answers());
      JsonArray list = new JsonArray();
      came.answers().forEach(list::add);
      all = list;
    } else {
      check(step.get("expect"), all);
    }
    if (step.has("save")) {
      for (Map.Entry<String, JsonElement> saved : step.getAsJsonObject("save").entrySet()) {
        variables.put(saved.getKey(), at(all, saved.getValue().getAsString()).getAsString());
      }
    }
  }

  /** A method of the generated service, by {@code Service/Method}. */
  private static MethodDescriptor<Message, Message> method(String path) throws ReflectiveOperationException {
    String[] names = path.split("/");
    ServiceDescriptor service =
        (ServiceDescriptor)
            Class.forName("dev.sidemirror.v1." + names[0] + "Grpc").getMethod("getServiceDescriptor").invoke(null);
    for (MethodDescriptor<?, ?> each : service.getMethods()) {
      if (names[1].equals(each.getBareMethodName())) {
        @SuppressWarnings("unchecked") // protobuf's messages go in and out
        MethodDescriptor<Message, Message> method = (MethodDescriptor<Message, Message>) each;
        return method;
      }
    }
    throw new IllegalArgumentException(path);
  }

  private Answers answers(JsonObject step, MethodDescriptor<Message, Message> method) throws Exception {
    CallOptions options = CallOptions.DEFAULT;
    if (step.has("deadline_ms")) {
      options = options.withDeadlineAfter(step.get("deadline_ms").getAsLong(), TimeUnit.MILLISECONDS);
    }
    int cancelAfter = step.has("cancel_after") ? step.get("cancel_after").getAsInt() : -1;
    ClientCall<Message, Message> call = client.channel().newCall(method, options);
    CompletableFuture<Answers> ended = new CompletableFuture<>();
    List<JsonElement> answers = Collections.synchronizedList(new ArrayList<>());
    call.start(
        new ClientCall.Listener<>() {
          @Override
          public void onMessage(Message answer) {
            answers.add(plain(answer));
            if (answers.size() == cancelAfter) {
              call.cancel("enough", null);
            }
          }

          @Override
          public void onClose(Status status, Metadata trailers) {
            boolean cancelled = status.getCode() == Status.Code.CANCELLED && answers.size() >= cancelAfter;
            ended.complete(new Answers(answers, cancelAfter > 0 && cancelled ? Status.OK : status, trailers));
          }
        },
        new Metadata());
    call.request(Integer.MAX_VALUE);
    Message prototype = ((PrototypeMarshaller<Message>) method.getRequestMarshaller()).getMessagePrototype();
    JsonArray requests = step.getAsJsonArray("requests");
    if (requests == null) {
      requests = new JsonArray();
      requests.add(step.get("request"));
    }
    for (JsonElement request : requests) {
      call.sendMessage(parsed(request, prototype.newBuilderForType()).build());
    }
    call.halfClose();
    return ended.get(2, TimeUnit.MINUTES);
  }

  private static void checkError(JsonObject step, Answers came) throws Unexpected {
    if (!step.has("error")) {
      throw new Unexpected(came.status().toString());
    }
    JsonObject expected = step.getAsJsonObject("error");
    if (came.status().isOk()) {
      throw new Unexpected("an answer instead of " + expected + ": " + came.answers());
    }
    Problem problem = Problem.of(came.status().asRuntimeException(came.trailers()));
    boolean same =
        came.status().getCode().name().equals(text(expected, "code"))
            && (!expected.has("reason") || problem.reason().equals(text(expected, "reason")))
            && problem.fields().keySet().containsAll(strings(expected.get("fields")));
    if (!same) {
      throw new Unexpected(came.status() + " (" + problem + ") instead of " + expected);
    }
  }

  // --- the turn helper -------------------------------------------------------------------------------------------------

  private void turn(JsonObject step) throws Exception {
    String name = step.has("as") ? text(step, "as") : "t";
    Turn turn = turns.get(name);
    switch (text(step, "turn")) {
      case "begin" -> {
        TurnStarted started = parsed(step.get("started"), TurnStarted.newBuilder()).build();
        turns.put(name, client.beginTurn(text(step, "turn_id"), text(step, "agent"), started));
        directives.put(name, new ArrayList<>());
      }
      case "report" -> {
        JsonArray events = step.has("events") ? step.getAsJsonArray("events") : new JsonArray();
        int times = step.has("times") ? step.get("times").getAsInt() : 1;
        for (int time = 0; time < times; time++) {
          for (JsonElement event : events) {
            turn.report(parsed(event, TurnEvent.newBuilder()).build());
          }
        }
        if (step.has("text_bytes")) {
          turn.report(Events.toolReturned("é".repeat(step.get("text_bytes").getAsInt() / 2), false));
        }
      }
      case "finish" -> {
        TaskOutcome outcome = TaskOutcome.valueOf(text(step, "outcome"));
        if (step.has("score")) {
          turn.finish(outcome, step.get("score").getAsDouble());
        } else {
          turn.finish(outcome);
        }
      }
      case "flush" -> {
        if (!client.flush(PATIENCE.multipliedBy(3))) {
          throw new Unexpected("not everything was delivered");
        }
      }
      case "error" -> awaitError(turn, step);
      case "await" -> await(name, step.get("expect"));
      case "plan" -> check(step.get("expect"), turn.plan(PATIENCE).map(Scenario::plain).orElse(JsonNull.INSTANCE));
      case "summary" ->
          check(step.get("expect"), turn.summary(PATIENCE).map(Scenario::plain).orElse(JsonNull.INSTANCE));
      default -> throw new Unexpected("an unknown step " + step);
    }
  }

  private static void awaitError(Turn turn, JsonObject step) throws Exception {
    for (long end = System.nanoTime() + 3 * PATIENCE.toNanos(); turn.error().isEmpty(); Thread.sleep(10)) {
      if (System.nanoTime() > end) {
        throw new Unexpected("the turn goes on");
      }
    }
    StatusRuntimeException error = turn.error().get();
    checkError(step, new Answers(List.of(), error.getStatus(), error.getTrailers()));
    if (turn.dropped() != step.get("dropped").getAsInt()) {
      throw new Unexpected(turn.dropped() + " events were dropped");
    }
  }

  private void await(String name, JsonElement expected) throws Unexpected {
    List<JsonElement> before = directives.get(name);
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (true) {
      long left = Math.max(0, end - System.nanoTime());
      TurnDirective directive =
          turns
              .get(name)
              .next(Duration.ofNanos(left))
              .orElseThrow(() -> new Unexpected("no directive " + expected + " among " + before));
      before.add(plain(directive));
      if (matches(expected, plain(directive))) {
        before.clear();
        return;
      }
    }
  }

  private void away(JsonObject given) throws Exception {
    int count = given.get("turns").getAsInt();
    int events = given.get("events").getAsInt();
    String prefix = text(given, "prefix");
    Longest longest = new Longest();
    told.set(0);
    List<Turn> begun = new ArrayList<>();
    for (int number = 0; number < count; number++) {
      String turnId = prefix + "-" + number;
      TurnStarted started = TurnStarted.newBuilder().setSessionId(prefix).setTask("away").build();
      Turn turn = longest.of(() -> client.beginTurn(turnId, "", started));
      begun.add(turn);
      for (int place = 0; place < events; place++) {
        if (place == events / 2 && number == given.get("kill_at").getAsInt()) {
          control("kill");
        } else if (place == events / 2 && number == given.get("start_at").getAsInt()) {
          control("start");
        }
        TurnEvent event =
            Events.toolCalled("step", "{\"i\": " + place + "}").toBuilder().setEventId("e" + place).build();
        longest.of(() -> turn.report(event));
      }
      longest.of(turn::take);
      longest.of(
          () -> {
            turn.finish(TaskOutcome.TASK_OUTCOME_SUCCESS);
            return null;
          });
      Thread.sleep(1);
    }
    if (!client.flush(Duration.ofMinutes(1))) {
      throw new Unexpected("not everything was delivered");
    }
    int dropped = begun.stream().mapToInt(Turn::dropped).sum();
    System.out.printf(
        Locale.ROOT,
        "away {\"longest_ms\": %f, \"plain_ms\": %f, \"told\": %d, \"dropped\": %d}%n",
        longest.heldNs() / 1e6,
        longest.plainNs / 1e6,
        told.get(),
        dropped);
  }

  /**
   * The longest that a use of the client took: by the clock, and by what this process did. That is what it computed
   * meanwhile; and since one that waits computes nothing, what one use in a hundred exceeds.
   */
  private static final class Longest {
    private static final OperatingSystemMXBean PROCESS =
        (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

    private final List<Long> hereNs = new ArrayList<>();
    private long computedNs;
    private long plainNs;

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
  }

  /** For how many nanoseconds this thread could have run while others had its core; 0 where the system does not say. */
  private static long waited() {
    try {
      return Long.parseLong(Files.readString(Path.of("/proc/thread-self/schedstat")).split(" ")[1]);
    } catch (IOException unknown) {
      return 0;
    }
  }

  // --- comparing -------------------------------------------------------------------------------------------------------

  private static <B extends Message.Builder> B parsed(JsonElement given, B into)
      throws InvalidProtocolBufferException {
    if (given != null) {
      JsonFormat.parser().merge(given.toString(), into);
    }
    return into;
  }

  /** Protobuf's JSON of a message. */
  private static JsonElement plain(Message message) {
    try {
      return JsonParser.parseString(JsonFormat.printer().print(message));
    } catch (InvalidProtocolBufferException notRegistered) {
      throw new IllegalStateException(notRegistered);
    }
  }

  private static void checkStream(JsonArray expected, List<JsonElement> answers) throws Unexpected {
    int place = 0;
    for (JsonElement each : expected) {
      while (place < answers.size() && !matches(each, answers.get(place))) {
        place++;
      }
      if (place++ >= answers.size()) {
        throw new Unexpected(each + " did not come, in that order, in " + answers);
      }
    }
  }

  private static void check(JsonElement expected, JsonElement answer) throws Unexpected {
    if (expected != null && !matches(expected, answer)) {
      throw new Unexpected("expected " + expected + ", got " + answer);
    }
  }

  /** {@code actual} is null where nothing is. */
  private static boolean matches(JsonElement expected, JsonElement actual) {
    boolean absent = actual == null || actual.isJsonNull();
    if (expected.isJsonNull()) {
      return absent;
    }
    if (absent) {
      return false;
    }
    if (expected.isJsonObject()) {
      return actual.isJsonObject()
          && expected.getAsJsonObject().entrySet().stream()
              .allMatch(each -> matches(each.getValue(), actual.getAsJsonObject().get(each.getKey())));
    }
    if (expected.isJsonArray()) {
      JsonArray list = expected.getAsJsonArray();
      if (!actual.isJsonArray() || actual.getAsJsonArray().size() < list.size()) {
        return false;
      }
      for (int place = 0; place < list.size(); place++) {
        if (!matches(list.get(place), actual.getAsJsonArray().get(place))) {
          return false;
        }
      }
      return true;
    }
    return "*".equals(expected.getAsString()) || expected.equals(actual);
  }

  private static JsonElement at(JsonElement answer, String path) {
    JsonElement found = answer;
    for (String part : path.split("\\.")) {
      found =
          found.isJsonArray()
              ? found.getAsJsonArray().get(Integer.parseInt(part))
              : found.getAsJsonObject().get(part);
    }
    return found;
  }

  private JsonElement filled(JsonElement given) {
    if (given.isJsonObject()) {
      JsonObject filled = new JsonObject();
      given.getAsJsonObject().entrySet().forEach(each -> filled.add(each.getKey(), filled(each.getValue())));
      return filled;
    }
    if (given.isJsonArray()) {
      JsonArray filled = new JsonArray();
      given.getAsJsonArray().forEach(each -> filled.add(filled(each)));
      return filled;
    }
    if (given.isJsonPrimitive() && given.getAsJsonPrimitive().isString()) {
      Matcher found = VARIABLE.matcher(given.getAsString());
      return new JsonPrimitive(
          found.replaceAll(
              each -> Matcher.quoteReplacement(variables.getOrDefault(each.group(1), each.group()))));
    }
    return given;
  }

  private static List<String> strings(JsonElement list) {
    List<String> strings = new ArrayList<>();
    if (list != null) {
      list.getAsJsonArray().forEach(each -> strings.add(each.getAsString()));
    }
    return strings;
  }

  private static String text(JsonObject given, String key) {
    return given.has(key) ? given.get(key).getAsString() : "";
  }
}
