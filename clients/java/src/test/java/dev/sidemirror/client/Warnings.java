package dev.sidemirror.client;

import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import java.util.logging.Handler;
import java.util.logging.LogRecord;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;

/** What a log says, the client's own unless another one is named, from here until it is closed. */
final class Warnings extends Handler implements AutoCloseable {
  final LinkedBlockingQueue<String> told = new LinkedBlockingQueue<>();
  private final Logger logger;
  private final Consumer<String> also;

  Warnings() {
    this("dev.sidemirror.client");
  }

  Warnings(String name) {
    this(name, said -> {});
  }

  /** {@code also}: what else is done with each, on the thread that says it. */
  Warnings(String name, Consumer<String> also) {
    this.also = also;
    logger = Logger.getLogger(name);
    logger.addHandler(this);
  }

  @Override
  public void publish(LogRecord record) {
    String said = new SimpleFormatter().formatMessage(record);
    told.add(said);
    also.accept(said);
  }

  @Override
  public void flush() {}

  @Override
  public void close() {
    logger.removeHandler(this);
  }
}
