// Where most is held, what is read before and behind waits on the host.
// RUN: gantry-opt %s --gantry-swap-values="bytes=0,10000" | FileCheck %s --check-prefixes=CHECK,ONE
// RUN: gantry-opt %s --gantry-swap-values="bytes=0,1000000" | FileCheck %s --check-prefixes=CHECK,ALL
// RUN: gantry-opt %s --gantry-swap-values="bytes=1000000,0" | FileCheck %s --check-prefix=NONE
// NONE-COUNT-1: gantry.copy
// NONE-NOT: gantry.copy

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// The one that is not read for longest goes first, behind its last use; a view is made again of what came back. What the
// host has only comes back. What the fullest op reads stays.
// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[HOST:[^:]*]]: tensor<64x64xf32>
// CHECK: %[[X:.*]] = gantry.copy %[[HOST]] to {{.*}}GPU:0" {cause = "input"}
// CHECK-NEXT: %[[A:.*]] = gantry.tanh %[[X]] {{.*}}name = "a"
// CHECK-NEXT: %[[SENT:.*]] = gantry.copy %[[A]] to "/job:localhost/replica:0/task:0/device:CPU:0" force {cause = "the memory limit"}
// CHECK: %[[B:.*]] = gantry.matmul %[[X]], {{.*}}name = "b"
// CHECK-NOT: gantry.copy
// CHECK: gantry.matmul %[[B]], {{.*}}name = "wide"
// CHECK: %[[C:.*]] = gantry.matmul {{.*}}name = "c"
// ALL-NEXT: %[[AGAIN:.*]] = gantry.copy %[[HOST]] to {{.*}}GPU:0" force {cause = "the memory limit"}
// ALL-NEXT: %[[D:.*]] = gantry.add %[[C]], %[[AGAIN]] {{.*}}name = "d"
// ONE-NEXT: %[[D:.*]] = gantry.add %[[C]], %[[X]] {{.*}}name = "d"
// CHECK: %[[BACK:.*]] = gantry.copy %[[SENT]] to {{.*}}GPU:0" force {cause = "the memory limit"}
// CHECK-NEXT: %[[VIEW:.*]] = gantry.reshape %[[BACK]]
// CHECK-NEXT: gantry.mul %{{.*}}, %[[VIEW]] {{.*}}name = "f"
// CHECK-NOT: gantry.copy
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu], {
    physical = [{driver = "host", name = "/physical_device:CPU:0"}, {driver = "sim", name = "/physical_device:GPU:0"}],
    logical = [{physical = 0}, {physical = 1}]}>} {
  func.func @main(%host: tensor<64x64xf32>) -> (tensor<4096xf32> {gantry.device = #gpu}) {
    %w1 = gantry.constant dense<1.0> : tensor<64x64xf32>
    %w2 = gantry.constant dense<2.0> : tensor<64x512xf32>
    %w3 = gantry.constant dense<3.0> : tensor<512x64xf32>
    %x = gantry.copy %host to "/job:localhost/replica:0/task:0/device:GPU:0" {cause = "input"} : tensor<64x64xf32>
    %a = gantry.tanh %x {gantry.device = #gpu, gantry.name = "a"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %v = gantry.reshape %a : (tensor<64x64xf32>) -> tensor<4096xf32>
    %b = gantry.matmul %x, %w1 {gantry.device = #gpu, gantry.name = "b"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %wide = gantry.matmul %b, %w2 {gantry.device = #gpu, gantry.name = "wide"} : (tensor<64x64xf32>, tensor<64x512xf32>) -> tensor<64x512xf32>
    %c = gantry.matmul %wide, %w3 {gantry.device = #gpu, gantry.name = "c"} : (tensor<64x512xf32>, tensor<512x64xf32>) -> tensor<64x64xf32>
    %d = gantry.add %c, %x {gantry.device = #gpu, gantry.name = "d"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %e = gantry.reshape %d : (tensor<64x64xf32>) -> tensor<4096xf32>
    %f = gantry.mul %e, %v {gantry.device = #gpu, gantry.name = "f"} : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    return %f : tensor<4096xf32>
  }
}
