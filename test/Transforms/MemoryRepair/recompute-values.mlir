// Values are computed again in front of their late readers, in the fewest seconds that hold as many bytes less.
// RUN: gantry-opt %s --gantry-recompute-values="bytes=0,40000" --split-input-file | FileCheck %s
// RUN: gantry-opt %s --gantry-recompute-values="bytes=0,16000" --split-input-file | FileCheck %s --check-prefix=LESS
// RUN: gantry-opt %s --gantry-recompute-values="bytes=100000,0" --split-input-file | FileCheck %s --check-prefix=NONE
// NONE-NOT: /again

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// A forward and a backward pass: of what the backward pass reads nothing is held, the product among it; views are made
// again, too. Where less is asked, one op is enough.
// CHECK-LABEL: func.func @training(
// CHECK-SAME: %[[X:[^:]*]]: tensor<64x64xf32>
// CHECK: gantry.matmul %{{.*}}name = "b"
// CHECK: %[[Z2:.*]] = gantry.matmul %[[X]], {{.*}}name = "z/again_0"
// CHECK-NEXT: %[[S2:.*]] = gantry.sigmoid %[[Z2]] {{.*}}name = "s/again_1"
// CHECK-NEXT: %[[A2:.*]] = gantry.mul %[[Z2]], %[[S2]] {{.*}}name = "a/again_2"
// CHECK-NEXT: %[[V2:.*]] = gantry.reshape %[[A2]]
// CHECK-NEXT: gantry.mul %{{.*}}, %[[V2]] {{.*}}name = "da"
// CHECK: gantry.add {{.*}}, %[[Z2]] {{.*}}name = "dz"
// LESS-LABEL: func.func @training(
// LESS-COUNT-1: /again
// LESS-NOT: /again
// LESS: return
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu], {
    physical = [{driver = "host", name = "/physical_device:CPU:0"}, {driver = "sim", name = "/physical_device:GPU:0"}],
    logical = [{physical = 0}, {physical = 1}]}>} {
  func.func @training(%x: tensor<64x64xf32> {gantry.device = #gpu}) -> (tensor<64x64xf32> {gantry.device = #gpu}) {
    %w1 = gantry.constant dense<1.0> : tensor<64x64xf32>
    %w2 = gantry.constant dense<2.0> : tensor<64x512xf32>
    %w3 = gantry.constant dense<3.0> : tensor<512x64xf32>
    %z = gantry.matmul %x, %w1 {gantry.device = #gpu, gantry.name = "z"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %s = gantry.sigmoid %z {gantry.device = #gpu, gantry.name = "s"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %a = gantry.mul %z, %s {gantry.device = #gpu, gantry.name = "a"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %v = gantry.reshape %a : (tensor<64x64xf32>) -> tensor<4096xf32>
    %wide = gantry.matmul %a, %w2 {gantry.device = #gpu, gantry.name = "wide"} : (tensor<64x64xf32>, tensor<64x512xf32>) -> tensor<64x512xf32>
    %b = gantry.matmul %wide, %w3 {gantry.device = #gpu, gantry.name = "b"} : (tensor<64x512xf32>, tensor<512x64xf32>) -> tensor<64x64xf32>
    %c = gantry.tanh %b {gantry.device = #gpu, gantry.name = "c"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %cv = gantry.reshape %c : (tensor<64x64xf32>) -> tensor<4096xf32>
    %da = gantry.mul %cv, %v {gantry.device = #gpu, gantry.name = "da"} : (tensor<4096xf32>, tensor<4096xf32>) -> tensor<4096xf32>
    %dv = gantry.reshape %da : (tensor<4096xf32>) -> tensor<64x64xf32>
    %dz = gantry.add %dv, %z {gantry.device = #gpu, gantry.name = "dz"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %dz : tensor<64x64xf32>
  }
}

// -----

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">

// What is made of a product is no smaller than the product: both run again.
// CHECK-LABEL: func.func @chain(
// CHECK: gantry.matmul {{.*}}name = "b"
// CHECK: %[[Z:.*]] = gantry.matmul {{.*}}name = "z/again_0"
// CHECK-NEXT: %[[A:.*]] = gantry.tanh %[[Z]] {{.*}}name = "a/again_1"
// CHECK-NEXT: gantry.add %[[A]]
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu], {
    physical = [{driver = "host", name = "/physical_device:CPU:0"}, {driver = "sim", name = "/physical_device:GPU:0"}],
    logical = [{physical = 0}, {physical = 1}]}>} {
  func.func @chain(%x: tensor<64x64xf32> {gantry.device = #gpu}) -> (tensor<64x64xf32> {gantry.device = #gpu}) {
    %w1 = gantry.constant dense<1.0> : tensor<64x64xf32>
    %w2 = gantry.constant dense<2.0> : tensor<64x512xf32>
    %w3 = gantry.constant dense<3.0> : tensor<512x64xf32>
    %z = gantry.matmul %x, %w1 {gantry.device = #gpu, gantry.name = "z"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %a = gantry.tanh %z {gantry.device = #gpu, gantry.name = "a"} : (tensor<64x64xf32>) -> tensor<64x64xf32>
    %wide = gantry.matmul %a, %w2 {gantry.device = #gpu, gantry.name = "wide"} : (tensor<64x64xf32>, tensor<64x512xf32>) -> tensor<64x512xf32>
    %b = gantry.matmul %wide, %w3 {gantry.device = #gpu, gantry.name = "b"} : (tensor<64x512xf32>, tensor<512x64xf32>) -> tensor<64x64xf32>
    %c = gantry.add %a, %b {gantry.device = #gpu, gantry.name = "c"} : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    return %c : tensor<64x64xf32>
  }
}
