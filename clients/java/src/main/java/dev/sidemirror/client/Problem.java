package dev.sidemirror.client;

import com.google.protobuf.Any;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.rpc.BadRequest;
import com.google.rpc.ErrorInfo;
import com.google.rpc.RetryInfo;
import com.google.rpc.Status;
import io.grpc.protobuf.StatusProto;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;

/**
 * What the sidecar says about an error beyond its status code (google.rpc).
 *
 * @param reason a name of {@code ErrorReason} without its prefix; empty for errors that do not come from the sidecar
 * @param metadata what belongs to the reason
 * @param fields what is wrong with the request, by field
 * @param retryAfter when to come again, where the sidecar says so
 */
public record Problem(
    String reason, Map<String, String> metadata, Map<String, String> fields, Optional<Duration> retryAfter) {

  /**
   * What came with the error of a call; empty where nothing did that can be read.
   *
   * @param error what a call threw
   * @return what it says
   */
  public static Problem of(Throwable error) {
    String reason = "";
    Map<String, String> metadata = Map.of();
    Map<String, String> fields = new LinkedHashMap<>();
    Optional<Duration> retryAfter = Optional.empty();
    try {
      Status status = StatusProto.fromThrowable(error);
      for (Any detail : status == null ? Status.getDefaultInstance().getDetailsList() : status.getDetailsList()) {
        if (detail.is(ErrorInfo.class)) {
          ErrorInfo info = detail.unpack(ErrorInfo.class);
          reason = info.getReason();
          metadata = info.getMetadataMap();
        } else if (detail.is(BadRequest.class)) {
          detail
              .unpack(BadRequest.class)
              .getFieldViolationsList()
              .forEach(violation -> fields.put(violation.getField(), violation.getDescription()));
        } else if (detail.is(RetryInfo.class)) {
          com.google.protobuf.Duration delay = detail.unpack(RetryInfo.class).getRetryDelay();
          retryAfter = Optional.of(Duration.ofSeconds(delay.getSeconds(), delay.getNanos()));
        }
      }
    } catch (InvalidProtocolBufferException | IllegalArgumentException notOurs) {
      // Something between here and the sidecar has made this error: its code is all that it says.
    }
    return new Problem(reason, Map.copyOf(metadata), Map.copyOf(fields), retryAfter);
  }
}
