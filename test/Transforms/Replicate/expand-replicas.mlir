// RUN: gantry-opt %s --pass-pipeline='builtin.module(func.func(gantry-expand-replicas))' | FileCheck %s --enable-var-scope

// Shards of 4, 3 rows; each op once per device, under the replica's name; rows joined where the
// caller wants them. What is not split comes from outside as it is.
// CHECK-LABEL: func.func @gather(
// CHECK-SAME: %[[X:.*]]: tensor<7x4xf32>, %[[W:.*]]: tensor<4x2xf32>
// CHECK-DAG: %[[X0:.*]] = gantry.slice %[[X]] {gantry.device = #gantry.device<"CPU:0">, {{.*}}sizes = array<i64: 4, 4>, starts = array<i64: 0, 0>
// CHECK-DAG: %[[X1:.*]] = gantry.slice %[[X]] {gantry.device = #gantry.device<"CPU:0">, {{.*}}sizes = array<i64: 3, 4>, starts = array<i64: 4, 0>
// CHECK: %[[Y0:.*]] = gantry.matmul %[[X0]], %[[W]] {gantry.device = #gantry.device<"GPU:0">, gantry.name = "dense/replica_0", {{.*}} -> tensor<4x2xf32>
// CHECK: %[[Y1:.*]] = gantry.matmul %[[X1]], %[[W]] {gantry.device = #gantry.device<"GPU:1">, gantry.name = "dense/replica_1", {{.*}} -> tensor<3x2xf32>
// CHECK: %[[Y:.*]] = gantry.concat %[[Y0]], %[[Y1]] {axis = 0 : i64, gantry.device = #gantry.device<"CPU:0">
// CHECK: return %[[Y]] : tensor<7x2xf32>
func.func @gather(%x: tensor<7x4xf32>, %w: tensor<4x2xf32>) -> tensor<7x2xf32> {
  %y = gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [gather 0]
      : (tensor<7x4xf32>) -> tensor<7x2xf32> {
  ^bb0(%shard: tensor<?x4xf32>):
    %0 = gantry.matmul %shard, %w {gantry.name = "dense"} : (tensor<?x4xf32>, tensor<4x2xf32>) -> tensor<?x2xf32>
    gantry.yield %0 : tensor<?x2xf32>
  }
  return %y : tensor<7x2xf32>
}

// Weights 2 and 1 of 6 rows, along the second dimension; an op's own request is the inner one.
// CHECK-LABEL: func.func @weighted(
// CHECK-DAG: gantry.slice {{.*}} sizes = array<i64: 2, 4>, starts = array<i64: 0, 0>
// CHECK-DAG: gantry.slice {{.*}} sizes = array<i64: 2, 2>, starts = array<i64: 0, 4>
// CHECK: gantry.relu {{.*}}CPU:0"{{.*}} : (tensor<2x4xf32>)
// CHECK: gantry.exp {{.*}}GPU:0">{{.*}} : (tensor<2x4xf32>)
// CHECK: gantry.exp {{.*}}GPU:1">{{.*}} : (tensor<2x2xf32>)
// CHECK: gantry.concat {{.*}}{axis = 1 : i64,
func.func @weighted(%x: tensor<2x6xf32>) -> tensor<2x6xf32> {
  %y = gantry.replicate (%x) on ["GPU:0", "GPU:1"] weights [2, 1] takes [split 1] gives [gather 1]
      : (tensor<2x6xf32>) -> tensor<2x6xf32> {
  ^bb0(%shard: tensor<2x?xf32>):
    %0 = gantry.relu %shard {gantry.device = #gantry.device<"CPU:0">} : (tensor<2x?xf32>) -> tensor<2x?xf32>
    %1 = gantry.exp %0 : (tensor<2x?xf32>) -> tensor<2x?xf32>
    gantry.yield %1 : tensor<2x?xf32>
  }
  return %y : tensor<2x6xf32>
}

// @r2_mean: 5 rows on 4 replicas are 2, 2, 1 and none: the means count 2/5, 2/5, 1/5. No op is for
// the empty shard.
// CHECK-LABEL: func.func @r2_mean(
// CHECK-NOT: gantry.reduce_mean {{.*}}GPU:3
// CHECK: %[[M0:.*]] = gantry.reduce_mean {{.*}}GPU:0"
// CHECK: %[[M1:.*]] = gantry.reduce_mean {{.*}}GPU:1"
// CHECK: %[[M2:.*]] = gantry.reduce_mean {{.*}}GPU:2"
// CHECK: %[[P:.*]] = gantry.constant dense<4.000000e-01>
// CHECK: %[[S0:.*]] = gantry.mul %[[M0]], %[[P]]
// CHECK: %[[Q:.*]] = gantry.constant dense<4.000000e-01>
// CHECK: %[[S1:.*]] = gantry.mul %[[M1]], %[[Q]]
// CHECK: %[[R:.*]] = gantry.constant dense<2.000000e-01>
// CHECK: %[[S2:.*]] = gantry.mul %[[M2]], %[[R]]
// CHECK: gantry.add_n %[[S0]], %[[S1]], %[[S2]] {gantry.device = #gantry.device<"GPU:0">
func.func @r2_mean(%x: tensor<5xf32>) -> tensor<f32> {
  %y = gantry.replicate (%x) on ["GPU:0", "GPU:1", "GPU:2", "GPU:3"] takes [split 0] gives [mean]
      : (tensor<5xf32>) -> tensor<f32> {
  ^bb0(%shard: tensor<?xf32>):
    %0 = gantry.reduce_mean %shard {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    gantry.yield %0 : tensor<f32>
  }
  return %y : tensor<f32>
}

// A replica without rows still updates its mirror, by what the others reduced.
// CHECK-LABEL: func.func @empty_update(
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32>, %[[W0:.*]]: tensor<3xf32>, %[[W1:.*]]: tensor<3xf32>, %[[W2:.*]]: tensor<3xf32>
// CHECK: %[[G:.*]]:2 = gantry.all_reduce mean %{{.*}}, %{{.*}} on ["GPU:0", "GPU:1"] weights [1, 1]
// CHECK: %[[A0:.*]] = gantry.update_add %[[W0]], %[[G]]#0 {{.*}}GPU:0">{{.*}}gantry.variable = @w}
// CHECK: %[[A1:.*]] = gantry.update_add %[[W1]], %[[G]]#1 {{.*}}GPU:1">{{.*}}gantry.variable = @"w/replica_1"}
// CHECK: %[[A2:.*]] = gantry.update_add %[[W2]], %[[G]]#0 {{.*}}GPU:2">{{.*}}gantry.variable = @"w/replica_2"}
// CHECK: return %[[A0]], %[[A1]], %[[A2]]
func.func @empty_update(%x: tensor<2x3xf32>, %w0: tensor<3xf32>, %w1: tensor<3xf32>, %w2: tensor<3xf32>)
    -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %y:3 = gantry.replicate (%x, %w0, %w1, %w2) on ["GPU:0", "GPU:1", "GPU:2"]
      takes [split 0, per_replica] gives [per_replica]
      : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  ^bb0(%shard: tensor<?x3xf32>, %w: tensor<3xf32>):
    %0 = gantry.reduce_mean %shard {axes = array<i64: 0>} : (tensor<?x3xf32>) -> tensor<3xf32>
    %1 = gantry.all_reduce mean %0 : (tensor<3xf32>) -> tensor<3xf32>
    %2 = gantry.update_add %w, %1 {gantry.variable = @w} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
    gantry.yield %2 : tensor<3xf32>
  }
  return %y#0, %y#1, %y#2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// A batch without rows is one replica's.
// CHECK-LABEL: func.func @nothing(
// CHECK-COUNT-1: gantry.relu
// CHECK-NOT: gantry.relu
func.func @nothing(%x: tensor<0x4xf32>) -> tensor<0x4xf32> {
  %y = gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [gather 0]
      : (tensor<0x4xf32>) -> tensor<0x4xf32> {
  ^bb0(%shard: tensor<?x4xf32>):
    %0 = gantry.relu %shard : (tensor<?x4xf32>) -> tensor<?x4xf32>
    gantry.yield %0 : tensor<?x4xf32>
  }
  return %y : tensor<0x4xf32>
}

// A shape stated for the whole batch becomes the shard's.
// CHECK-LABEL: func.func @rebatched(
// CHECK: gantry.reshape {{.*}} : (tensor<3x4xf32>) -> tensor<3x2x2xf32>
// CHECK: gantry.reshape {{.*}} : (tensor<3x4xf32>) -> tensor<3x2x2xf32>
func.func @rebatched(%x: tensor<6x4xf32>) -> tensor<6x2x2xf32> {
  %y = gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [gather 0]
      : (tensor<6x4xf32>) -> tensor<6x2x2xf32> {
  ^bb0(%shard: tensor<6x4xf32>):
    %0 = gantry.reshape %shard : (tensor<6x4xf32>) -> tensor<6x2x2xf32>
    gantry.yield %0 : tensor<6x2x2xf32>
  }
  return %y : tensor<6x2x2xf32>
}

// A loop with a collective inside is one for all replicas: their shards are carried side by side, under
// the first one's condition. The third, which has no rows, carries what its mirror gets, and no more.
// CHECK-LABEL: func.func @joint_loop(
// CHECK-SAME: %[[X:.*]]: tensor<2x3xf32>, %[[W0:.*]]: tensor<3xf32>, %[[W1:.*]]: tensor<3xf32>, %[[W2:.*]]: tensor<3xf32>, %[[ZERO:[^:]*]]: tensor<i64>
// CHECK: %[[S0:.*]] = gantry.slice %[[X]] {{.*}}starts = array<i64: 0, 0>
// CHECK: %[[S1:.*]] = gantry.slice %[[X]] {{.*}}starts = array<i64: 1, 0>
// CHECK: %[[L:.*]]:7 = gantry.while(%[[ZERO]], %[[S0]], %[[W0]], %[[ZERO]], %[[S1]], %[[W1]], %[[W2]])
// CHECK: ^bb0(%[[I:[^:]*]]: tensor<i64>, {{.*}}):
// CHECK: %[[C:.*]] = gantry.compare lt, %[[I]], %{{.*}}GPU:0
// CHECK: gantry.yield %[[C]] : tensor<i1>
// CHECK: } do {
// CHECK: ^bb0(%{{.*}}: tensor<i64>, %[[R0:.*]]: tensor<1x3xf32>, %[[V0:.*]]: tensor<3xf32>, %{{.*}}: tensor<i64>, %[[R1:.*]]: tensor<1x3xf32>, %[[V1:.*]]: tensor<3xf32>, %[[V2:.*]]: tensor<3xf32>):
// CHECK: %[[M0:.*]] = gantry.reduce_mean %[[R0]]
// CHECK: %[[M1:.*]] = gantry.reduce_mean %[[R1]]
// CHECK-NOT: gantry.reduce_mean
// CHECK: %[[G:.*]]:2 = gantry.all_reduce mean %[[M0]], %[[M1]]
// CHECK: %[[A0:.*]] = gantry.update_add %[[V0]], %[[G]]#0 {{.*}}GPU:0
// CHECK: %[[A1:.*]] = gantry.update_add %[[V1]], %[[G]]#1 {{.*}}GPU:1
// CHECK: %[[A2:.*]] = gantry.update_add %[[V2]], %[[G]]#0 {{.*}}GPU:2
// CHECK: gantry.yield %{{[^,]*}}, %{{[^,]*}}, %[[A0]], %{{[^,]*}}, %{{[^,]*}}, %[[A1]], %[[A2]] :
// CHECK: return %[[L]]#2, %[[L]]#5, %[[L]]#6
func.func @joint_loop(%x: tensor<2x3xf32>, %w0: tensor<3xf32>, %w1: tensor<3xf32>, %w2: tensor<3xf32>, %zero: tensor<i64>, %n: tensor<i64>)
    -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  %y:3 = gantry.replicate (%x, %w0, %w1, %w2) on ["GPU:0", "GPU:1", "GPU:2"]
      takes [split 0, per_replica] gives [per_replica]
      : (tensor<2x3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>) {
  ^bb0(%shard: tensor<?x3xf32>, %w: tensor<3xf32>):
    %l:3 = gantry.while (%zero, %shard, %w) : (tensor<i64>, tensor<?x3xf32>, tensor<3xf32>) -> (tensor<i64>, tensor<?x3xf32>, tensor<3xf32>) {
    ^bb0(%i: tensor<i64>, %r: tensor<?x3xf32>, %v: tensor<3xf32>):
      %c = gantry.compare lt, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
      gantry.yield %c : tensor<i1>
    } do {
    ^bb0(%i: tensor<i64>, %r: tensor<?x3xf32>, %v: tensor<3xf32>):
      %0 = gantry.reduce_mean %r {axes = array<i64: 0>} : (tensor<?x3xf32>) -> tensor<3xf32>
      %1 = gantry.all_reduce mean %0 : (tensor<3xf32>) -> tensor<3xf32>
      %2 = gantry.update_add %v, %1 {gantry.variable = @w} : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
      %3 = gantry.add %i, %i : (tensor<i64>, tensor<i64>) -> tensor<i64>
      gantry.yield %3, %r, %2 : tensor<i64>, tensor<?x3xf32>, tensor<3xf32>
    }
    gantry.yield %l#2 : tensor<3xf32>
  }
  return %y#0, %y#1, %y#2 : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}

// So is a branch; one without a collective stays each replica's own.
// CHECK-LABEL: func.func @joint_branch(
// CHECK-SAME: %[[X:.*]]: tensor<3xf32>, %[[C:.*]]: tensor<i1>
// CHECK: %[[B:.*]]:2 = gantry.if %[[C]] -> (tensor<f32>, tensor<f32>) {
// CHECK: %[[R:.*]]:2 = gantry.all_reduce
// CHECK: gantry.if %[[C]] -> (tensor<f32>)
// CHECK: gantry.if %[[C]] -> (tensor<f32>)
// CHECK: } else {
// CHECK: gantry.yield %{{.*}}, %{{.*}} : tensor<f32>, tensor<f32>
// CHECK: gantry.add_n %[[B]]#0, %[[B]]#1
func.func @joint_branch(%x: tensor<3xf32>, %c: tensor<i1>) -> tensor<f32> {
  %y = gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [sum] : (tensor<3xf32>) -> tensor<f32> {
  ^bb0(%a: tensor<?xf32>):
    %0 = gantry.reduce_sum %a {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
    %1 = gantry.if %c -> (tensor<f32>) {
      %2 = gantry.all_reduce sum %0 : (tensor<f32>) -> tensor<f32>
      %3 = gantry.if %c -> (tensor<f32>) {
        gantry.yield %2 : tensor<f32>
      } else {
        gantry.yield %0 : tensor<f32>
      } : tensor<i1>
      gantry.yield %3 : tensor<f32>
    } else {
      gantry.yield %0 : tensor<f32>
    } : tensor<i1>
    gantry.yield %1 : tensor<f32>
  }
  return %y : tensor<f32>
}

// A gradient for each replica, and one of all losses where replicas meet inside.
// CHECK-LABEL: func.func @gradients(
// CHECK: gantry.gradient(%{{.*}}) : (tensor<2xf32>) -> (tensor<f32>, tensor<2xf32>)
// CHECK: gantry.gradient(%{{.*}}) : (tensor<2xf32>) -> (tensor<f32>, tensor<2xf32>)
// CHECK: %[[ONE:.*]] = gantry.constant dense<1.000000e+00> : tensor<f32>
// CHECK: %[[G:.*]]:6 = gantry.gradient(%[[W0:.*]], %[[W1:.*]], %[[ONE]], %[[ONE]]) seeds 2 : (tensor<2xf32>, tensor<2xf32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) {
// CHECK: ^bb0(%[[A:.*]]: tensor<2xf32>, %[[B:.*]]: tensor<2xf32>):
// CHECK:   %[[M0:.*]] = gantry.mul %{{.*}}, %[[A]] {{.*}} : (tensor<4x2xf32>, tensor<2xf32>)
// CHECK:   %[[M1:.*]] = gantry.mul %{{.*}}, %[[B]] {{.*}} : (tensor<3x2xf32>, tensor<2xf32>)
// CHECK:   %[[S:.*]]:2 = gantry.all_reduce sum
// CHECK:   gantry.yield %{{.*}}, %{{.*}}, %[[S]]#0, %[[S]]#1 : tensor<f32>, tensor<f32>, tensor<2xf32>, tensor<2xf32>
// CHECK: gantry.concat %[[G]]#4, %[[G]]#5
func.func @gradients(%x: tensor<7x2xf32>, %w: tensor<2xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y:2 = gantry.replicate (%x, %w) on ["GPU:0", "GPU:1"] takes [split 0, broadcast] gives [gather 0, gather 0]
      : (tensor<7x2xf32>, tensor<2xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%shard: tensor<?x2xf32>, %v: tensor<2xf32>):
    %own:2 = gantry.gradient (%v) : (tensor<2xf32>) -> (tensor<f32>, tensor<2xf32>) {
    ^bb0(%a: tensor<2xf32>):
      %0 = gantry.mul %shard, %a : (tensor<?x2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
      %1 = gantry.reduce_sum %0 {axes = array<i64: 0, 1>} : (tensor<?x2xf32>) -> tensor<f32>
      gantry.yield %1 : tensor<f32>
    }
    %all:3 = gantry.gradient (%v) : (tensor<2xf32>) -> (tensor<f32>, tensor<2xf32>, tensor<2xf32>) {
    ^bb0(%a: tensor<2xf32>):
      %0 = gantry.mul %shard, %a : (tensor<?x2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
      %1 = gantry.reduce_sum %0 {axes = array<i64: 0>} : (tensor<?x2xf32>) -> tensor<2xf32>
      %2 = gantry.all_reduce sum %1 : (tensor<2xf32>) -> tensor<2xf32>
      %3 = gantry.mul %2, %2 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      %4 = gantry.reduce_sum %3 {axes = array<i64: 0>} : (tensor<2xf32>) -> tensor<f32>
      gantry.yield %4, %2 : tensor<f32>, tensor<2xf32>
    }
    gantry.yield %own#1, %all#2 : tensor<2xf32>, tensor<2xf32>
  }
  return %y#0, %y#1 : tensor<4xf32>, tensor<4xf32>
}

// Which share of the rows each has, also inside of what is differentiated; without rows one of as many as there
// are, and outside of replicas all.
// CHECK-LABEL: func.func @shares(
// CHECK-DAG: gantry.constant dense<0.571428597> : tensor<f32>
// CHECK-DAG: gantry.constant dense<0.428571433> : tensor<f32>
// CHECK: gantry.constant dense<0.571428597> : tensor<f32>
// CHECK: gantry.mul %{{.*}} : (tensor<4xf32>, tensor<f32>)
// CHECK: gantry.constant dense<0.428571433> : tensor<f32>
// CHECK: gantry.mul %{{.*}} : (tensor<3xf32>, tensor<f32>)
// CHECK-COUNT-2: gantry.constant dense<5.000000e-01> : tensor<f32>
// CHECK: %[[ONE:.*]] = gantry.constant dense<1.000000e+00> : tensor<f32>
// CHECK-NOT: gantry.share
// CHECK: return %{{.*}}, %[[ONE]]
func.func @shares(%x: tensor<7xf32>, %w: tensor<f32>) -> (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) {
  %y:2 = gantry.replicate (%x) on ["GPU:0", "GPU:1"] takes [split 0] gives [sum, sum] : (tensor<7xf32>) -> (tensor<f32>, tensor<f32>) {
  ^bb0(%a: tensor<?xf32>):
    %s = gantry.share : tensor<f32>
    %g:2 = gantry.gradient (%w) : (tensor<f32>) -> (tensor<f32>, tensor<f32>) {
    ^bb0(%b: tensor<f32>):
      %t = gantry.share : tensor<f32>
      %0 = gantry.mul %a, %t : (tensor<?xf32>, tensor<f32>) -> tensor<?xf32>
      %1 = gantry.reduce_sum %0 {axes = array<i64: 0>} : (tensor<?xf32>) -> tensor<f32>
      %2 = gantry.mul %1, %b : (tensor<f32>, tensor<f32>) -> tensor<f32>
      gantry.yield %2 : tensor<f32>
    }
    gantry.yield %g#1, %s : tensor<f32>, tensor<f32>
  }
  %z:2 = gantry.replicate () on ["GPU:0", "GPU:1"] takes [] gives [per_replica] : () -> (tensor<f32>, tensor<f32>) {
    %s = gantry.share : tensor<f32>
    gantry.yield %s : tensor<f32>
  }
  %all = gantry.share : tensor<f32>
  return %y#0, %y#1, %z#0, %z#1, %all : tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>
}
