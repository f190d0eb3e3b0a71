import com.google.gson.JsonArray;
import com.google.gson.JsonElement;
import com.google.gson.JsonNull;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import com.google.gson.JsonPrimitive;
import com.google.protobuf.InvalidProtocolBufferException;
import dev.sidemirror.client.AgentTurn;
import dev.sidemirror.client.Events;
import dev.sidemirror.client.Sidemirror;
import dev.sidemirror.client.Undelivered;
import dev.sidemirror.v1.ReportGoalRequest;
import dev.sidemirror.v1.TaskOutcome;
import dev.sidemirror.v1.TurnDirective;
import dev.sidemirror.v1.TurnEvent;
import dev.sidemirror.v1.TurnStarted;
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
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
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

  /** What turns work towards, where they know it from their beginning. */
  private final Map<String, ReportGoalRequest> goals = new HashMap<>();

  private final Map<String, List<JsonElement>> directives = new HashMap<>();
  private final BlockingQueue<String> refusals = new LinkedBlockingQueue<>();
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
      Crowd.held();
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
      awaitRefusal(Matching.text(step, "refused"));
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

  private void awaitRefusal(String word) throws Exception {
    String why = refusals.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
    if (why == null || !why.contains(word) || told.get() > 0) {
      throw new Unexpected("told " + why + ", and " + told + " times that the sidecar is away");
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
    Calling.Answers came =
        Calling.answers(client.channel(), step, Calling.method(Matching.text(step, "call")));
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
        turns.put(name, client.beginTurn(Matching.text(step, "turn_id"), Matching.text(step, "agent"), started));
        directives.put(name, new ArrayList<>());
        goals.put(name, goal(step));
      }
      case "report" -> {
        JsonArray events = step.has("events") ? step.getAsJsonArray("events") : new JsonArray();
        int times = step.has("times") ? step.get("times").getAsInt() : 1;
        for (int time = 0; time < times; time++) {
          for (JsonElement event : events) {
            turn.report(Matching.parsed(event, TurnEvent.newBuilder()).build());
          }
        }
        if (step.has("text_bytes")) {
          turn.report(Events.toolReturned("é".repeat(step.get("text_bytes").getAsInt() / 2), false));
        }
      }
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
      case "leave" -> {
        try (turn) {
          Objects.requireNonNull(turn);
        }
      }
      case "fail" -> fail(turn, goals.get(name));
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

  private static void fail(AgentTurn turn, ReportGoalRequest goal) throws Unexpected {
    try {
      turn.run(
          goal,
          in -> {
            throw new IllegalStateException("an agent's own");
          });
    } catch (IllegalStateException own) {
      return;
    }
    throw new Unexpected("the exception is gone");
  }

  /** What the helper gives for a step. */
  private static void ask(AgentTurn turn, JsonObject step) throws Unexpected {
    boolean timed = step.has("timeout_ms");
    Duration atMost = timeout(step);
    long began = System.nanoTime();
    JsonElement answer =
        switch (Matching.text(step, "turn")) {
          case "plan" -> turn.plan(atMost).map(Matching::plain).orElse(JsonNull.INSTANCE);
          case "summary" -> turn.summary(atMost).map(Matching::plain).orElse(JsonNull.INSTANCE);
          case "recall" -> turn.recall().map(Matching::plain).orElse(JsonNull.INSTANCE);
          case "advice" -> list(timed ? turn.advice(atMost) : turn.advice());
          case "critique" -> {
            String text = Matching.text(step, "text");
            String question = Matching.text(step, "user_message");
            yield (timed ? turn.critique(text, question, atMost) : turn.critique(text))
                .map(Matching::plain)
                .orElse(JsonNull.INSTANCE);
          }
          default -> throw new Unexpected("an unknown step " + step);
        };
    long tookMs = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began);
    Matching.check(step.get("expect"), answer);
    if (answer.isJsonArray() && answer.getAsJsonArray().size() != step.getAsJsonArray("expect").size()) {
      throw new Unexpected("too many: " + answer);
    }
    if (step.has("within_ms") && tookMs > step.get("within_ms").getAsLong()) {
      throw new Unexpected("it took " + tookMs + " ms");
    }
  }

  private static JsonArray list(List<TurnDirective> directives) {
    JsonArray list = new JsonArray();
    directives.forEach(each -> list.add(Matching.plain(each)));
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
