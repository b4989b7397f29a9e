// What another device makes is rounded there and travels in half the bytes.

// RUN: gantry-opt %s --gantry-set-targets=math=bf16 --gantry-reduce-precision --gantry-insert-copies --gantry-verify-copies | FileCheck %s
// RUN: gantry compile %s --entry=travels --devices=CPU:0,GPU:0,GPU:1 --simulate --math=bf16 --stop-after=copy -o - | FileCheck %s --check-prefix=COMPILED
// RUN: gantry compile %s --entry=travels --devices=CPU:0,GPU:0,GPU:1 --simulate --math=bf16 -o %t.gantry
// RUN: gantry explain %t.gantry --all | FileCheck %s --check-prefix=LEDGER

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">
#gpu1 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">

module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0, #gpu1]>} {
  // COMPILED: %[[N:.*]] = gantry.cast %{{.*}} : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  // COMPILED-NEXT: gantry.copy %[[N]] to "{{.*}}GPU:1"
  // 4 x 8 numbers of two bytes in the place of four.
  // LEDGER: 1 copy per run, 64 bytes (d2d 1)
  // CHECK-LABEL: func.func @travels(
  // CHECK: %[[A:.*]] = gantry.relu
  // CHECK-NEXT: %[[N:.*]] = gantry.cast %[[A]] {gantry.device = #gantry.device<"{{.*}}GPU:0">, gantry.name = "product/left"{{.*}}} : (tensor<4x8xf32>) -> tensor<4x8xbf16>
  // CHECK-NEXT: %[[C:.*]] = gantry.copy %[[N]] to "{{.*}}GPU:1"
  // CHECK: gantry.matmul %[[C]], %{{.*}} {accumulate_type = f32
  func.func @travels(%x: tensor<4x8xf32> {gantry.device = #gpu0}) -> (tensor<4x4xf32> {gantry.device = #gpu1}) {
    %w = gantry.constant dense<0.5> : tensor<8x4xf32>
    %0 = gantry.relu %x {gantry.device = #gpu0} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = gantry.matmul %0, %w {gantry.device = #gpu1, gantry.name = "product"} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    return %1 : tensor<4x4xf32>
  }

  // Through a view, and once for two products of one device; the first device keeps what it reads itself.
  // CHECK-LABEL: func.func @view(
  // CHECK: %[[A:.*]] = gantry.relu
  // CHECK: %[[V:.*]] = gantry.reshape %[[A]]
  // CHECK-NEXT: %[[N:.*]] = gantry.cast %[[V]] {gantry.device = #gantry.device<"{{.*}}GPU:0">
  // CHECK-NEXT: %[[C:.*]] = gantry.copy %[[N]] to "{{.*}}GPU:1"
  // CHECK-NOT: gantry.copy
  // CHECK: gantry.matmul %[[C]]
  // CHECK: gantry.matmul %[[C]]
  func.func @view(%x: tensor<32xf32> {gantry.device = #gpu0}) -> (tensor<4x4xf32> {gantry.device = #gpu1}, tensor<4x4xf32> {gantry.device = #gpu1}, tensor<32xf32> {gantry.device = #gpu0}) {
    %w = gantry.constant dense<0.5> : tensor<8x4xf32>
    %v = gantry.constant dense<1.5> : tensor<8x4xf32>
    %0 = gantry.relu %x {gantry.device = #gpu0} : (tensor<32xf32>) -> tensor<32xf32>
    %1 = gantry.reshape %0 : (tensor<32xf32>) -> tensor<4x8xf32>
    %2 = gantry.matmul %1, %w {gantry.device = #gpu1} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %3 = gantry.matmul %1, %v {gantry.device = #gpu1} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %4 = gantry.exp %0 {gantry.device = #gpu0} : (tensor<32xf32>) -> tensor<32xf32>
    return %2, %3, %4 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<32xf32>
  }

  // What the other device needs in f32 as well travels once, as it is.
  // CHECK-LABEL: func.func @both(
  // CHECK: %[[A:.*]] = gantry.relu
  // CHECK-NEXT: %[[C:.*]] = gantry.copy %[[A]] to "{{.*}}GPU:1"
  // CHECK-NEXT: %[[N:.*]] = gantry.cast %[[C]] {gantry.device = #gantry.device<"{{.*}}GPU:1">}
  // CHECK-NOT: gantry.copy
  // CHECK: gantry.matmul %[[N]]
  // CHECK: gantry.exp %[[C]]
  func.func @both(%x: tensor<4x8xf32> {gantry.device = #gpu0}) -> (tensor<4x4xf32> {gantry.device = #gpu1}, tensor<4x8xf32> {gantry.device = #gpu1}) {
    %w = gantry.constant dense<0.5> : tensor<8x4xf32>
    %0 = gantry.relu %x {gantry.device = #gpu0} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %1 = gantry.matmul %0, %w {gantry.device = #gpu1} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    %2 = gantry.exp %0 {gantry.device = #gpu1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
    return %1, %2 : tensor<4x4xf32>, tensor<4x8xf32>
  }

  // No kernel makes an input: it is rounded where it is read.
  // CHECK-LABEL: func.func @input(
  // CHECK: %[[C:.*]] = gantry.copy %{{.*}} to "{{.*}}GPU:1"
  // CHECK: gantry.cast %[[C]]
  func.func @input(%x: tensor<4x8xf32>) -> (tensor<4x4xf32> {gantry.device = #gpu1}) {
    %w = gantry.constant dense<0.5> : tensor<8x4xf32>
    %0 = gantry.matmul %x, %w {gantry.device = #gpu1} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
    return %0 : tensor<4x4xf32>
  }
}
