import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.Message;
import dev.sidemirror.client.AgentTurn;
import dev.sidemirror.client.Events;
import dev.sidemirror.client.Sidemirror;
import dev.sidemirror.client.Undelivered;
import dev.sidemirror.v1.ReportGoalRequest;
import dev.sidemirror.v1.TaskOutcome;
import dev.sidemirror.v1.TurnDirective;
import dev.sidemirror.v1.TurnEvent;
import dev.sidemirror.v1.TurnStarted;
import io.grpc.MethodDescriptor;
import io.grpc.StatusRuntimeException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CancellationException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Runs the scenario of clients/scenario with the Java client. How a runner behaves is said there, in README.md. */
public final class Scenario {
  static final Duration PATIENCE = Duration.ofSeconds(60);
  private static final Pattern VARIABLE = Pattern.compile("\\$([a-z_]+)");

  private final Map<String, String> variables = new HashMap<>();
  private final Map<String, AgentTurn> turns = new HashMap<>();

  private final Map<String, List<JsonElement>> directives = new HashMap<>();
  private final List<String> refusals = new CopyOnWriteArrayList<>();
  private final Times times = new Times();
  private final AtomicInteger told = new AtomicInteger();
  private final BufferedReader stdin = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
  private Sidemirror client;

  /** Threads at the first {@code held}. */
  private int tasks;

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
      if (Matching.strings(step.get("needs")).stream().anyMatch(need -> !has.contains(need))) {
        continue;
      }
      System.out.println("step " + Matching.text(step, "name"));
      try {
        runner.step(runner.filled(step).getAsJsonObject());
      } catch (Unexpected | StatusRuntimeException | TimeoutException wrong) {
        System.err.println(Matching.text(step, "name") + ": " + wrong);
        System.exit(1);
      }
      passed++;
    }
    if (runner.client != null) {
      runner.client.close();
    }
    runner.times.print();
    System.out.println("passed " + passed);
  }

  private void step(JsonObject step) throws Exception {
    if (step.has("connect")) {
      connect(step.getAsJsonObject("connect"));
    } else if (step.has("server")) {
      control(Matching.text(step, "server"));
    } else if (step.has("turn")) {
      turn(step);
    } else if (step.has("away")) {
      new Crowd(this, client, told).away(step.getAsJsonObject("away"));
    } else if (step.has("many")) {
      new Crowd(this, client, told).many(step.getAsJsonObject("many"));
    } else if (step.has("held")) {
      tasks = new Crowd(this, client, told).held(tasks);
    } else if (step.has("close")) {
      Undelivered left = client.close(Duration.ZERO);
      JsonObject found = new JsonObject();
      found.addProperty("events", left.events());
      found.addProperty("outcomes", left.outcomes());
      found.addProperty("goals", left.goals());
      found.addProperty("turns", left.turns().size());
      Matching.check(step.get("close"), JsonParser.parseString(found.toString()));
    } else if (step.has("advice_text")) {
      List<TurnDirective> said = new ArrayList<>();
      for (JsonElement each : step.getAsJsonArray("advice_text")) {
        said.add(Matching.parsed(each, TurnDirective.newBuilder()).build());
      }
      Matching.check(step.get("text"), new JsonPrimitive(Sidemirror.adviceText(said)));
    } else if (step.has("refused")) {
      awaitRefusal(step);
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
            .address(Matching.text(given, "address"))
            .scope(Matching.text(given, "tenant_id"), Matching.text(given, "project_id"))
            .onAway(this::count)
            .onRefused(refusals::add);
    if (given.has("token_file")) {
      builder.tokenFile(Path.of(Matching.text(given, "token_file")));
    }
    if (given.has("ca_file")) {
      builder.caFile(Path.of(Matching.text(given, "ca_file")));
    }
    if (given.has("client_certificate_file")) {
      builder.clientCertificate(
          Path.of(Matching.text(given, "client_certificate_file")), Path.of(Matching.text(given, "client_key_file")));
    }
    if (given.has("tls")) {
      builder.tls(given.get("tls").getAsBoolean());
    }
    if (given.has("refused")) {
      checkRefused(builder, Matching.strings(given.get("refused")));
      return;
    }
    told.set(0);
    refusals.clear();
    client = builder.connect();
    if (!given.has("wait") || given.get("wait").getAsBoolean()) {
      client.waitUntilReady(PATIENCE);
    }
  }

  private static void checkRefused(Sidemirror.Builder builder, List<String> words) throws Unexpected {
    try {
      builder.connect().close();
    } catch (IllegalArgumentException refused) {
      if (words.stream().allMatch(refused.getMessage()::contains)) {
        return;
      }
      throw new Unexpected("refused, but not with " + words + ": " + refused.getMessage());
    }
    throw new Unexpected("not refused");
  }

  private void awaitRefusal(JsonObject step) throws Exception {
    String word = Matching.text(step, "refused");
    long end = System.nanoTime() + PATIENCE.toNanos();
    while (refusals.stream().noneMatch(why -> why.contains(word)) && System.nanoTime() < end) {
      Thread.sleep(10);
    }
    boolean isSo = refusals.stream().anyMatch(why -> why.contains(word)) && told.get() == 0;
    if (!isSo || (step.has("times") && step.get("times").getAsInt() != refusals.size())) {
      throw new Unexpected("told " + refusals + ", and " + told + " times that the sidecar is away");
    }
  }

  private void count(Throwable why) {
    told.incrementAndGet();
    System.out.println("told " + why.getMessage());
    throw new AssertionError("an agent's own callback");
  }

  /** Has something done to the sidecar. */
  void control(String what) throws IOException, Unexpected {
    System.out.println("@" + what);
    String answer = stdin.readLine();
    if (!"done".equals(answer)) {
      throw new Unexpected(what + ": " + answer);
    }
  }

  // --- calls -----------------------------------------------------------------------------------------------------------

  private void call(JsonObject step) throws Exception {
    MethodDescriptor<Message, Message> method = Calling.method(Matching.text(step, "call"));
    Calling.Answers came = times.of(step, () -> Calling.answers(client.channel(), step, method));
    if (!came.status().isOk() || step.has("error")) {
      Calling.checkError(step, came);
      return;
    }
    JsonElement all = came.answers().isEmpty() ? JsonNull.INSTANCE : came.answers().get(0);
    if (step.has("expect_stream")) {
      Matching.checkStream(step.getAsJsonArray("expect_stream"), came.answers());
      JsonArray list = new JsonArray();
      came.answers().forEach(list::add);
      all = list;
    } else {
      Matching.check(step.get("expect"), all);
    }
    if (step.has("save")) {
      for (Map.Entry<String, JsonElement> saved : step.getAsJsonObject("save").entrySet()) {
        variables.put(saved.getKey(), Matching.at(all, saved.getValue().getAsString()).getAsString());
      }
    }
  }

  // --- the turn helper -------------------------------------------------------------------------------------------------

  private void turn(JsonObject step) throws Exception {
    String name = step.has("as") ? Matching.text(step, "as") : "t";
    AgentTurn turn = turns.get(name);
    switch (Matching.text(step, "turn")) {
      case "begin" -> {
        TurnStarted started = Matching.parsed(step.get("started"), TurnStarted.newBuilder()).build();
        String agent = Matching.text(step, "agent");
        turns.put(name, client.beginTurn(Matching.text(step, "turn_id"), agent, started, goal(step)));
        directives.put(name, new ArrayList<>());
      }
      case "report" -> {
        JsonArray events = step.has("events") ? step.getAsJsonArray("events") : new JsonArray();
        int count = step.has("times") ? step.get("times").getAsInt() : 1;
        for (int time = 0; time < count; time++) {
          for (JsonElement given : events) {
            TurnEvent event = Matching.parsed(given, TurnEvent.newBuilder()).build();
            times.of(step, () -> turn.report(event));
          }
        }
        if (step.has("text_bytes")) {
          turn.report(Events.toolReturned("é".repeat(step.get("text_bytes").getAsInt() / 2), false));
        }
      }
      case "worked" ->
          turn.report(Events.ofCall(Matching.text(step, "call_id"), Events.toolWorked(Matching.text(step, "content"))));
      case "finish" -> {
        Double score = step.has("score") ? Double.valueOf(step.get("score").getAsDouble()) : null;
        turn.finish(TaskOutcome.valueOf(Matching.text(step, "outcome")), score, goal(step));
      }
      case "flush" -> {
        boolean expected = !step.has("delivered") || step.get("delivered").getAsBoolean();
        if (client.flush(timeout(step)) != expected) {
          throw new Unexpected(expected ? "not everything was delivered" : "everything was");
        }
      }
      case "ready" -> {
        client.waitUntilReady(PATIENCE);
        if (client.away()) {
          throw new Unexpected("ready, and away");
        }
      }
      case "leave" -> {
        try (turn) {
          Objects.requireNonNull(turn);
        }
      }
      case "fail" -> fail(turn, new IllegalStateException("an agent's own"));
      case "cancel" -> fail(turn, new CancellationException("an agent's own"));
      case "error" -> awaitError(turn, step);
      case "await" -> await(name, step.get("expect"));
      default -> ask(turn, step);
    }
  }

  private static Duration timeout(JsonObject step) {
    return step.has("timeout_ms") ? Duration.ofMillis(step.get("timeout_ms").getAsLong()) : PATIENCE;
  }

  private static ReportGoalRequest goal(JsonObject step) throws InvalidProtocolBufferException {
    return step.has("goal") ? Matching.parsed(step.get("goal"), ReportGoalRequest.newBuilder()).build() : null;
  }

  private static void fail(AgentTurn turn, RuntimeException own) throws Unexpected {
    try {
      turn.run(
          in -> {
            throw own;
          });
    } catch (RuntimeException thrown) {
      if (thrown == own) {
        return;
      }
    }
    throw new Unexpected("the exception is gone");
  }

  /** What the helper gives for a step. */
  private void ask(AgentTurn turn, JsonObject step) throws Exception {
    long began = System.nanoTime();
    JsonElement answer = plain(times.of(step, asking(turn, step)));
    long tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began);
    Matching.check(step.get("expect"), answer);
    if (answer.isJsonArray() && answer.getAsJsonArray().size() != step.getAsJsonArray("expect").size()) {
      throw new Unexpected("too many: " + answer);
    }
    if (step.has("within_ms") && tookMs > step.get("within_ms").getAsLong()) {
      throw new Unexpected("it took " + tookMs + " ms");
    }
  }

  /** What gives the answer: a message where there is one, directives, or a text. */
  private static Callable<?> asking(AgentTurn turn, JsonObject step) throws Unexpected {
    boolean limited = step.has("timeout_ms");
    Duration atMost = timeout(step);
    String text = Matching.text(step, "text");
    String question = Matching.text(step, "user_message");
    String again = Matching.text(step, "again");
    return switch (Matching.text(step, "turn")) {
      case "plan" -> () -> turn.plan(atMost);
      case "summary" -> () -> turn.summary(atMost);
      case "recall" -> () -> limited ? turn.recall(atMost) : turn.recall();
      case "advice" -> () -> limited ? turn.advice(atMost) : turn.advice();
      case "critique" -> () -> limited ? turn.critique(text, question, atMost) : turn.critique(text);
      case "revised" -> () ->
          limited ? turn.revised(text, prompt -> again, question, atMost) : turn.revised(text, prompt -> again);
      default -> throw new Unexpected("an unknown step " + step);
    };
  }

  /** In protobuf's JSON. */
  private static JsonElement plain(Object answer) {
    if (answer instanceof Optional<?> there) {
      return there.map(each -> Matching.plain((Message) each)).orElse(JsonNull.INSTANCE);
    }
    if (answer instanceof String text) {
      return new JsonPrimitive(text);
    }
    JsonArray list = new JsonArray();
    ((List<?>) answer).forEach(each -> list.add(Matching.plain((Message) each)));
    return list;
  }

  private static void awaitError(AgentTurn turn, JsonObject step) throws Exception {
    for (long end = System.nanoTime() + PATIENCE.toNanos(); turn.error().isEmpty(); Thread.sleep(10)) {
      if (System.nanoTime() > end) {
        throw new Unexpected("the turn goes on");
      }
    }
    StatusRuntimeException error = turn.error().get();
    Calling.checkError(step, new Calling.Answers(List.of(), error.getStatus(), error.getTrailers()));
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
      before.add(Matching.plain(directive));
      if (Matching.matches(expected, Matching.plain(directive))) {
        before.clear();
        return;
      }
    }
  }

  // --- variables -----------------------------------------------------------------------------------------------------

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
}
