// The script that measures what plans in less memory take, on a model whose weights can come from the host.
// RUN: %python %S/../../tools/dev/bench_over_limit.py --gantry gantry --batch 4 --shares 0.8,0.1 %s | FileCheck %s
// CHECK: over-limit-shares, batch 4: 0.1 MiB, {{.*}} ms per run
// CHECK-NEXT: 80% {{[12][.0-9]*}}x, clock {{(0.99|1.00)[0-9]}} of it, same bits
// CHECK-NEXT: GPU:0: {{[0-9]+}} weights of {{.*}} stay on the host
// CHECK-NEXT: 10% refused: the smallest plan that --over-limit=fix can make needs
#gpu = #gantry.device<"GPU:0">
func.func @main(%x: tensor<?x64xf32> {gantry.name = "x", gantry.dims = ["batch", ""]}) -> (tensor<?x64xf32> {gantry.name = "y"}) {
  %w0 = gantry.constant dense<0.01> : tensor<64x64xf32>
  %w1 = gantry.constant dense<0.02> : tensor<64x64xf32>
  %w2 = gantry.constant dense<0.03> : tensor<64x64xf32>
  %w3 = gantry.constant dense<0.04> : tensor<64x64xf32>
  %w4 = gantry.constant dense<0.05> : tensor<64x64xf32>
  %w5 = gantry.constant dense<0.06> : tensor<64x64xf32>
  %a = gantry.matmul %x, %w0 {gantry.device = #gpu} : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %b = gantry.matmul %a, %w1 {gantry.device = #gpu} : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %c = gantry.matmul %b, %w2 {gantry.device = #gpu} : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %d = gantry.matmul %c, %w3 {gantry.device = #gpu} : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %e = gantry.matmul %d, %w4 {gantry.device = #gpu} : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  %y = gantry.matmul %e, %w5 {gantry.device = #gpu} : (tensor<?x64xf32>, tensor<64x64xf32>) -> tensor<?x64xf32>
  return %y : tensor<?x64xf32>
}
