package dev.sidemirror.client;

import dev.sidemirror.v1.CritiqueServiceGrpc;
import dev.sidemirror.v1.CritiqueServiceGrpc.CritiqueServiceBlockingStub;
import dev.sidemirror.v1.GoalReflectionServiceGrpc;
import dev.sidemirror.v1.GoalReflectionServiceGrpc.GoalReflectionServiceBlockingStub;
import dev.sidemirror.v1.ReflectiveMemoryServiceGrpc;
import dev.sidemirror.v1.ReflectiveMemoryServiceGrpc.ReflectiveMemoryServiceBlockingStub;
import dev.sidemirror.v1.SidecarServiceGrpc;
import dev.sidemirror.v1.SidecarServiceGrpc.SidecarServiceBlockingStub;
import dev.sidemirror.v1.ThinkingServiceGrpc;
import dev.sidemirror.v1.ThinkingServiceGrpc.ThinkingServiceBlockingStub;
import io.grpc.Channel;

/** The stubs of the contract's services, on one connection. */
abstract class Services {
  /**
   * ThinkingService. Streams and calls without waiting: {@code ThinkingServiceGrpc.newStub(sidemirror.channel())}.
   *
   * @return the blocking stub
   */
  public ThinkingServiceBlockingStub thinking() {
    return ThinkingServiceGrpc.newBlockingStub(channel());
  }

  /**
   * CritiqueService.
   *
   * @return the blocking stub
   */
  public CritiqueServiceBlockingStub critique() {
    return CritiqueServiceGrpc.newBlockingStub(channel());
  }

  /**
   * GoalReflectionService.
   *
   * @return the blocking stub
   */
  public GoalReflectionServiceBlockingStub goals() {
    return GoalReflectionServiceGrpc.newBlockingStub(channel());
  }

  /**
   * ReflectiveMemoryService.
   *
   * @return the blocking stub
   */
  public ReflectiveMemoryServiceBlockingStub memory() {
    return ReflectiveMemoryServiceGrpc.newBlockingStub(channel());
  }

  /**
   * SidecarService.
   *
   * @return the blocking stub
   */
  public SidecarServiceBlockingStub sidecar() {
    return SidecarServiceGrpc.newBlockingStub(channel());
  }

  /**
   * The connection, for stubs of another kind. What is said here of calls holds for them too.
   *
   * @return the channel
   */
  public abstract Channel channel();
}
